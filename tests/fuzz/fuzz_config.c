// SPDX-License-Identifier: BSD-3-Clause
// Fuzz the configuration reader: any bytes are a configuration or are rejected with a message.

#include <stdlib.h>
#include <string.h>

#include <tl_config.h>
#include <tl_err.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tl_config *config = NULL;
	struct tl_err err = {""};
	char *text = malloc(size); // exact size: a read beyond its end is detected

	if (size != 0 && text == NULL)
		return 0;
	if (size != 0)
		memcpy(text, data, size);
	int rc = tl_config_load_text(text, size, "fuzz", &config, &err);
	if ((rc == 0) != (config != NULL) || (rc != 0 && err.text[0] == '\0'))
		abort();
	tl_config_free(config);
	free(text);
	return 0;
}
