// SPDX-License-Identifier: BSD-3-Clause
// Roles of a port's RX queues, and their check against its echoes and recordings.

#include "config_priv.h"

int tl_config_roles(struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	const struct tl_config_port *port = section; // "rx_queues" precedes "roles" in the table
	size_t n = json_array_size(value);

	if (!json_is_array(value))
		return tl_config_not(r, value, "an array with a role for each RX queue");
	if (n != port->rx_queues)
		return tl_config_refuse(r, "%zu roles for %u RX queues; give one for each", n, port->rx_queues);
	for (size_t i = 0; i < n; i++) {
		struct tl_config_key element = *key;
		element.offset += i * sizeof(port->roles[0]);
		tl_config_enter_index(r, i);
		int rc = tl_config_choice(r, &element, json_array_get(value, i), section);
		if (rc != 0)
			return rc;
		tl_config_leave(r);
	}
	return 0;
}

// Set the path to $.ports[port].roles[queue] for the error that follows.
static void point_at_role(struct tl_config_reader *r, uint32_t port, uint32_t queue)
{
	tl_config_point_at(r, "ports", port, "roles");
	tl_config_enter_index(r, queue);
}

#define refuse_role(r, port, queue, ...) (point_at_role(r, port, queue), tl_config_refuse(r, __VA_ARGS__))

// Check the roles of a port. An error about all queues names the first one.
static int check_port(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_port *port = &config->ports[index];
	bool has_echo = false, has_capture = false, answers = false, records = false;

	for (uint32_t i = 0; i < config->n_echoes; i++)
		has_echo |= config->echoes[i].port == index;
	for (uint32_t i = 0; i < config->n_captures; i++)
		has_capture |= config->captures[i].port == index;
	for (uint32_t q = 0; q < port->rx_queues; q++) {
		answers |= tl_config_answers(port, q);
		records |= tl_config_records(port, q);
		if (port->roles[q] == TL_CONFIG_ROLE_ECHO && !has_echo)
			return refuse_role(
				r, index, q, "no echo is on the port \"%s\": add one, or use \"record\"", port->name);
		if (port->roles[q] == TL_CONFIG_ROLE_RECORD && !has_capture)
			return refuse_role(r, index, q, "no recording is of the port \"%s\": add one, or use \"echo\"",
				port->name);
	}
	if (has_echo && !answers)
		return refuse_role(r, index, 0,
			"no queue is left for the echoes of the port \"%s\": give one the role \"echo\" or \"both\"",
			port->name);
	if (has_capture && !records)
		return refuse_role(r, index, 0,
			"no queue is left for the recordings of the port \"%s\": give one the role \"record\" or \"both\"",
			port->name);
	if (port->ptp && !tl_config_answers(port, 0))
		return refuse_role(
			r, index, 0, "PTP frames are those of queue 0: give it the role \"echo\" or \"both\"");
	return 0;
}

static int check_shape(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_shape *shape = &config->shapes[index];
	const struct tl_config_port *port = &config->ports[shape->port];

	if (tl_config_answers(port, shape->queue) || tl_config_replay_from(config, shape->port) != NULL)
		return 0;
	return tl_config_refuse_at(r, "shape", index, "queue",
		"queue %u of the port \"%s\" only records and sends nothing (\"roles\"): choose another", shape->queue,
		port->name);
}

static int check_echo(struct tl_config_reader *r, const struct tl_config *config, uint32_t index)
{
	const struct tl_config_echo *echo = &config->echoes[index];
	const struct tl_config_port *port = &config->ports[echo->port];

	if (echo->queue == TL_CONFIG_QUEUE_AUTO || tl_config_answers(port, echo->queue))
		return 0;
	return tl_config_refuse_at(r, "echo", index, "queue",
		"queue %u of the port \"%s\" only records (\"roles\"): choose another", echo->queue, port->name);
}

int tl_config_check_roles(struct tl_config_reader *r, const struct tl_config *config)
{
	int rc = 0;

	for (uint32_t i = 0; i < config->n_ports && rc == 0; i++)
		rc = check_port(r, config, i);
	for (uint32_t i = 0; i < config->n_echoes && rc == 0; i++)
		rc = check_echo(r, config, i);
	for (uint32_t i = 0; i < config->n_shapes && rc == 0; i++)
		rc = check_shape(r, config, i);
	return rc;
}
