# Prints the samples of one time as lines of JSON. Each source is limited in time, and one that fails is left out.

# Prints `"name":number` for a number, and nothing otherwise. $3: `"` for text.
member() {
	case $2 in
	'' | -- | N/A | null) return ;;
	esac
	if [ "${3:-}" = text ]; then
		printf ',"%s":%s' "$1" "$(quoted "$2")"
	else
		case $2 in
		*[!0-9.eE+-]*) ;;
		*) printf ',"%s":%s' "$1" "$2" ;;
		esac
	fi
}

sample() { [ -n "$3" ] && printf '{"kind":"%s","ts":%s000%s}\n' "$1" "$2" "$3"; }

collect_system() {
	local now=$1 used
	used=$(awk '/^MemTotal:/ { total = $2 } /^MemAvailable:/ { free = $2 }
		END { if (total > 0) printf "%.1f", (total - free) * 100 / total }' "$PROC/meminfo" 2>/dev/null)
	sample system "$now" "$(
		member uptimeS "$(cut -d. -f1 "$PROC/uptime" 2>/dev/null)"
		member load1 "$(cut -d' ' -f1 "$PROC/loadavg" 2>/dev/null)"
		member memUsedPct "$used"
		member diskUsedPct "$(df -P /overlay 2>/dev/null | awk 'NR == 2 { sub(/%/, "", $5); print $5 }')"
		member firmware "$(release)" text
	)"
}

# The version of the firmware.
release() { sed -n "s/^DISTRIB_RELEASE=['\"]\{0,1\}\([^'\"]*\).*/\1/p" "$RELEASE_FILE" 2>/dev/null; }

# uqmi before April 2024 reports ten times the SNR of LTE. Once a value is out of range, all are divided by ten.
snr_of() {
	case $1 in '' | *[!0-9.-]*) return ;; esac
	awk -v snr="$1" 'BEGIN { exit !(snr > 40 || snr < -23) }' && touch "$RUN_DIR/snr-tenths"
	if [ -e "$RUN_DIR/snr-tenths" ]; then awk -v snr="$1" 'BEGIN { print snr / 10 }'; else printf '%s' "$1"; fi
}

collect_uqmi() {
	local now=$1 signal serving rat='' mcc mnc
	signal=$(limited 10 uqmi -s -t 5000 -d "$MODEM_DEVICE" --get-signal-info 2>/dev/null | flatten)
	[ -n "$signal" ] || {
		collect_uplink "$now"
		return
	}
	serving=$(limited 10 uqmi -s -t 5000 -d "$MODEM_DEVICE" --get-serving-system 2>/dev/null | flatten) || serving=
	field() { printf '%s\n' "$signal" | value_of "$1"; }
	served() { printf '%s\n' "$serving" | value_of "$1"; }
	case $(field type) in
	lte) rat=lte ;;
	5gnr) rat=nr-sa ;;
	wcdma) rat=umts ;;
	gsm) rat=gsm ;;
	esac
	mcc=$(served plmn_mcc)
	mnc=$(served plmn_mnc)
	# uqmi prints the MNC as a number. Two digits are usual.
	[ ${#mnc} -eq 1 ] && mnc=0$mnc
	sample cellular "$now" "$(
		member rat "$rat" text
		member rssiDbm "$(field rssi)"
		member rsrpDbm "$(field rsrp)"
		member rsrqDb "$(field rsrq)"
		member sinrDb "$(snr_of "$(field snr)")"
		member plmn "$mcc$mnc" text
		member operatorName "$(served plmn_description)" text
	)"
	case $(served registration) in
	registered) registration=home && [ "$(served roaming)" = true ] && registration=roaming ;;
	searching) registration=searching ;;
	registering_denied) registration=denied ;;
	not_registered) registration=not_registered ;;
	*) registration= ;;
	esac
	sample connection "$now" "$(
		member registration "$registration" text
		member rat "$rat" text
		member plmn "$mcc$mnc" text
		member operatorName "$(served plmn_description)" text
		wan_members
	)"
}

# The service reads the output of ModemManager itself; see `POST /adapters/modemmanager`. Here it is mapped, to be buffered.
collect_mmcli() {
	local now=$1 signal modem rat='' technology
	signal=$(limited 10 mmcli -m any -J --signal-get 2>/dev/null | flatten)
	[ -n "$signal" ] || {
		collect_uplink "$now"
		return
	}
	modem=$(limited 10 mmcli -m any -J 2>/dev/null | flatten) || modem=
	field() { printf '%s\n' "$signal" | value_of "modem.signal.$1" | grep -v '^--$'; }
	state() { printf '%s\n' "$modem" | value_of "modem.$1" | grep -v '^--$'; }
	for technology in 5g lte umts gsm; do
		[ -n "$(field $technology.rsrp)$(field $technology.rssi)$(field $technology.rscp)" ] && break
	done
	case $technology in
	5g) [ -n "$(field lte.rsrp)" ] && rat=nr-nsa || rat=nr-sa ;;
	*) [ -n "$(field $technology.rsrp)$(field $technology.rssi)$(field $technology.rscp)" ] && rat=$technology ;;
	esac
	sample cellular "$now" "$(
		member rat "$rat" text
		if [ "$rat" = nr-nsa ]; then
			member nrRsrpDbm "$(field 5g.rsrp)"
			member nrRsrqDb "$(field 5g.rsrq)"
			member nrSinrDb "$(field 5g.snr)"
			technology=lte
		fi
		member rssiDbm "$(field $technology.rssi)"
		member rsrpDbm "$(field $technology.rsrp)"
		member rsrqDb "$(field $technology.rsrq)"
		member sinrDb "$(field $technology.snr)"
		member plmn "$(state 3gpp.operator-code)" text
		member operatorName "$(state 3gpp.operator-name)" text
	)"
	sample connection "$now" "$(
		member registration "$(state 3gpp.registration-state)" text
		member rat "$rat" text
		wan_members "$(state generic.state)"
	)"
}

# The uplink of a router without a modem, or whose modem does not answer.
collect_uplink() { sample connection "$1" "$(wan_members)"; }

# $1: the state of the modem, which says more about an uplink that is down
wan_members() {
	local status device
	status=$(limited 5 ubus call "network.interface.$WAN_INTERFACE" status 2>/dev/null | flatten)
	device=$(printf '%s\n' "$status" | value_of l3_device)
	case $(printf '%s\n' "$status" | value_of up) in
	true) member state connected text ;;
	false) member state "${1:-disconnected}" text ;;
	*) member state "${1:-}" text ;;
	esac
	member interface "$device" text
	member wanIp "$(printf '%s\n' "$status" | value_of ipv4-address.0.address)" text
	member uptimeS "$(printf '%s\n' "$status" | value_of uptime)"
	member rxBytes "$(cat "/sys/class/net/$device/statistics/rx_bytes" 2>/dev/null)"
	member txBytes "$(cat "/sys/class/net/$device/statistics/tx_bytes" 2>/dev/null)"
}

# The newest position that gpsd reports within five seconds.
collect_gpsd() {
	local now=$1 report fix=
	command -v gpspipe >/dev/null || return 0
	report=$(limited 8 gpspipe -w -n 12 -x 5 2>/dev/null | grep '"class":"TPV"' | tail -n 1 | flatten) || return 0
	field() { printf '%s\n' "$report" | value_of "$1"; }
	case $(field mode) in
	1) fix=none ;;
	2) fix=2d ;;
	3) fix=3d ;;
	*) return 0 ;;
	esac
	sample location "$now" "$(
		member fix "$fix" text
		member source gnss text
		if [ "$fix" != none ]; then
			member fixTs "$(field time)" text
			member lat "$(field lat)"
			member lon "$(field lon)"
			member altitudeM "$(field altMSL)"
			member speedMps "$(field speed)"
			member headingDeg "$(field track)"
			member accuracyM "$(field eph)"
		fi
	)"
}

collect() {
	local now
	now=$(date +%s)
	# Without the time, a sample would be stored at a wrong place. It is set a few seconds after the uplink is up.
	[ "$now" -gt 1735689600 ] || return 0
	collect_system "$now"
	case ${MODEM:-$(command -v uqmi >/dev/null && [ -e "$MODEM_DEVICE" ] && echo uqmi)} in
	uqmi) collect_uqmi "$now" ;;
	none) collect_uplink "$now" ;;
	*) if command -v mmcli >/dev/null; then collect_mmcli "$now"; else collect_uplink "$now"; fi ;;
	esac
	collect_gpsd "$now"
}
