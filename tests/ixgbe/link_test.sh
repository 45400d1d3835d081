#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Link of a card down and up, at another speed; a surprise removal of the card ends the run with a complete file.
set -euo pipefail
source "$(dirname "$0")/lib/ixgbe.sh"

ixgbe_begin "a card's link and its removal are noticed"
card "$CARD" 10f7 "tap tap0"
tap_begin
card_config card.json ", \"ip\": \"$APP_IP/24\"" '"echo": [{"port": "lan", "tcp_listen": 7}]' "$RECORD"

app_start card.json
check "the kernel's ping is answered" wait_for 60 answers_ping
ask link "$CARD" 0 >/dev/null
check "a link that goes is noticed" wait_for 60 status_is '.port.link == "down" and .port.link_downs == 1'
check "the loss of the link is logged" grep -q 'has no link any more' run.log
ask link "$CARD" 1000 >/dev/null
check "a link that comes back is noticed" wait_for 60 status_is '.port.link == "up"'
check "the link is logged with its speed" wait_for 60 grep -q 'has a link, 1000 Mbit/s' run.log
check "the kernel's ping is answered again" wait_for 60 answers_ping
app_stop INT
check_equal "the run ends well" "$APP_STATUS" 0
check_json "and nothing is lost" run.json '.ledger_ok and .port.drop_nic_pkts == 0 and .port.drop_tx_pkts == 0'
