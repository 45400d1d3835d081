// SPDX-License-Identifier: BSD-3-Clause
// Keys of a meter: those of the classes of a recording, and of a policer. The largest burst is exact at every rate
// (tl_meter.h).

#include "config_priv.h"

// Read a rate; "unit" precedes the rates in the table.
int tl_config_meter_rate(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	const struct tl_config_meter *meter = section;
	bool pkts = meter->unit == TL_CONFIG_POLICE_PKTS;

	return pkts ? tl_config_number(r, key, value, section) : tl_config_rate(r, key, value, section);
}

int tl_config_meter_burst(
	struct tl_config_reader *r, const struct tl_config_key *key, const json_t *value, void *section)
{
	const struct tl_config_meter *meter = section;
	bool pkts = meter->unit == TL_CONFIG_POLICE_PKTS;

	return pkts ? tl_config_number(r, key, value, section) : tl_config_burst(r, key, value, section);
}

int tl_config_check_meter(struct tl_config_reader *r, const struct tl_config_meter *meter)
{
	if (meter->ebs != 0 && (meter->pir != 0 || meter->pbs != 0))
		return tl_config_refuse_key(r, "ebs",
			"a meter has either \"ebs\" (one rate, RFC 2697; with \"eir\" RFC 4115) or \"pir\" and \"pbs\" (two rates, RFC 2698)");
	if (meter->eir != 0 && meter->ebs == 0)
		return tl_config_refuse_key(r, "eir", "the bucket that it fills has no size: add \"ebs\" (RFC 4115)");
	if ((meter->pir != 0) != (meter->pbs != 0))
		return tl_config_refuse(
			r, "\"pir\" and \"pbs\" belong together; \"%s\" is missing", meter->pir != 0 ? "pbs" : "pir");
	if (meter->pir != 0 && meter->pir < meter->cir)
		return tl_config_refuse_key(
			r, "pir", "%ju is below \"cir\", %ju: raise it", (uintmax_t)meter->pir, (uintmax_t)meter->cir);
	return 0;
}

// Check that a bucket can hold the longest frame of the port.
static int meter_check_bucket(struct tl_config_reader *r, const struct tl_config_port *port, const char *key,
	uint64_t bytes, uint32_t overhead_bytes, const char *colour)
{
	uint32_t frame = port->mtu + TL_CONFIG_FRAME_BYTES + overhead_bytes;

	if (bytes == 0 || bytes >= frame)
		return 0;
	return tl_config_refuse_key(r, key,
		"%ju is less than the longest frame of the port \"%s\", %u bytes, which would never be %s; give as many or more",
		(uintmax_t)bytes, port->name, frame, colour);
}

int tl_config_check_buckets(struct tl_config_reader *r, const struct tl_config_port *port,
	const struct tl_config_meter *meter, uint32_t overhead_bytes)
{
	if (meter->unit == TL_CONFIG_POLICE_PKTS)
		return 0;
	int rc = meter_check_bucket(r, port, "cbs", meter->cbs, overhead_bytes, "green");
	if (rc == 0)
		rc = meter_check_bucket(r, port, "ebs", meter->ebs, overhead_bytes, "yellow");
	return rc == 0 ? meter_check_bucket(r, port, "pbs", meter->pbs, overhead_bytes, "green or yellow") : rc;
}
