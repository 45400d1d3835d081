// SPDX-License-Identifier: BSD-3-Clause
// Lists of frames.

#include "model.h"

#include <stdlib.h>
#include <string.h>

struct frame *frame_new(const uint8_t *data, uint32_t bytes)
{
	struct frame *frame = bytes <= FRAME_MAX ? malloc(sizeof(*frame) + bytes) : NULL;

	if (frame == NULL)
		return NULL;
	*frame = (struct frame){.bytes = bytes};
	memcpy(frame->data, data, bytes);
	return frame;
}

void frames_push(struct frames *list, struct frame *frame)
{
	if (list->first == NULL)
		list->last = &list->first;
	frame->next = NULL;
	*list->last = frame;
	list->last = &frame->next;
	list->bytes += frame->bytes;
	list->n++;
}

struct frame *frames_pop(struct frames *list)
{
	struct frame *frame = list->first;

	if (frame == NULL)
		return NULL;
	list->first = frame->next;
	list->bytes -= frame->bytes;
	list->n--;
	return frame;
}

void frames_clear(struct frames *list)
{
	struct frame *frame;

	while ((frame = frames_pop(list)) != NULL)
		free(frame);
}
