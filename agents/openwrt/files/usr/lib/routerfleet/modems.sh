# Lists the modems of the router, and asks uqmi and ModemManager about each.

# Prints a line for each modem and tool that knows it: tool, id and name. A modem has the name of its network interface, such as
# wwan0: all tools know it, while ModemManager counts on after a restart of a modem. The only modem has its name as well, so that
# its rows stay the same when a second one comes.
list_modems() {
	case $MODEM in
	none) return ;;
	uqmi) list_uqmi ;;
	'')
		! command -v uqmi >/dev/null || list_uqmi
		! command -v mmcli >/dev/null || list_mmcli
		;;
	*) ! command -v mmcli >/dev/null || list_mmcli ;;
	esac
	# Of modems with other protocols, only the interface is known.
	printf '%s\n' "$NETWORK" | awk -F '\t' '
		match($1, /^interface\.[0-9]+\./) { value[substr($1, 11, RLENGTH - 11) + 0, substr($1, RLENGTH + 1)] = $2 }
		END {
			for (number = 0; (number, "interface") in value; number++)
				if (value[number, "proto"] ~ /^(3g|directip|mbim|ncm)$/ && value[number, "l3_device"] != "")
					print "netifd - " value[number, "l3_device"]
		}'
}

# Another `modem_device` than the earlier default names the only devices to ask.
list_uqmi() {
	local device name driver found=
	case $MODEM_DEVICE in '' | /dev/cdc-wdm0) set -- "$DEV"/cdc-wdm* "$DEV"/wwan*qmi* ;; *) set -- $MODEM_DEVICE ;; esac
	for device in "$@"; do
		[ -e "$device" ] || continue
		driver=$(readlink "$SYS/class/usbmisc/${device##*/}/device/driver")
		# Modems of other protocols have devices of the same name.
		case ${driver##*/} in '' | qmi_wwan*) ;; *) continue ;; esac
		name=$(ls "$SYS/class/usbmisc/${device##*/}/device/net" 2>/dev/null | head -n 1)
		[ -n "$name" ] || name=$(basename "$device" | sed 's/^\(wwan[0-9]*\)qmi.*/\1/')
		echo "uqmi $device $name"
		found=yes
	done
	[ -n "$found" ] || [ "$MODEM" != uqmi ] || echo "uqmi ${MODEM_DEVICE:-/dev/cdc-wdm0} $(absent_modem)"
}

# Keeps what ModemManager says of each modem for `collect_mmcli`.
list_mmcli() {
	local list index name code=0
	list=$(limited 10 mmcli -L -J 2>/dev/null) || code=$?
	# It was stopped after its time.
	[ $code -lt 128 ] || return 0
	case $list in
	*'"modem-list"'*) list=$(printf '%s\n' "$list" | flatten | sed -n 's/^modem-list\..*\///p') ;;
	# It does not say which modems there are, but can still tell about one.
	*) list=any ;;
	esac
	for index in $list; do
		limited 10 mmcli -m "$index" -J 2>/dev/null | flatten >"$RUN_DIR/modem.$index"
		name=$(awk -F '\t' '$1 ~ /^modem\.generic\.ports\./ && sub(/ \(net\)$/, "", $2) { print $2; exit }' "$RUN_DIR/modem.$index")
		[ -n "$name" ] || name=$(value_of modem.generic.primary-port <"$RUN_DIR/modem.$index")
		if [ -n "$name" ]; then
			echo "$name" >"$RUN_DIR/modem-name.$index"
		else
			name=$(cat "$RUN_DIR/modem-name.$index" 2>/dev/null) || name=$index
			[ "$name" != any ] || name=$(absent_modem)
		fi
		echo "mmcli $index $name"
	done
}

# Prints the date of the installed uqmi, such as 20221020, from the list of opkg or apk; nothing if there is none.
uqmi_date() {
	{
		sed -n '/^Package: uqmi$/,/^$/s/^Version: //p' "$PACKAGES/opkg/status"
		sed -n '/^P:uqmi$/,/^$/s/^V://p' "$PACKAGES/apk/db/installed"
	} 2>/dev/null | sed -n 's/^\(20[0-9][0-9]\)[.-]\([0-9][0-9]\)[.-]\([0-9][0-9]\).*/\1\2\3/p' | head -n 1
}

# uqmi before April 2024 reports ten times the SNR of LTE, as an integer; since then it prints a decimal point. If its version is not
# known, only a value out of range shows the unit of an integer; until then, the unit is not known, and neither is the SNR.
snr_of() {
	local version
	case $1 in
	'' | *[!0-9.-]*) return ;;
	*.*)
		printf '%s' "$1"
		return
		;;
	esac
	version=$(uqmi_date)
	if [ -z "$version" ]; then
		awk -v snr="$1" 'BEGIN { exit !(snr > 40 || snr < -23) }' && touch "$RUN_DIR/snr-tenths"
		[ -e "$RUN_DIR/snr-tenths" ] || return 0
		version=0
	fi
	if [ "$version" -lt 20240401 ]; then awk -v snr="$1" 'BEGIN { print snr / 10 }'; else printf '%s' "$1"; fi
}

# Reports a modem by uqmi. $1: device  $2: name. Returns 1 if the modem does not answer.
collect_uqmi() {
	local device=$1 name=$2 at signal code=0 serving rat registration plmn operator sim state=
	at=$(uptime_s)
	ask() { limited 10 uqmi -s -t 5000 -d "$device" "$1" 2>/dev/null; }
	signal=$(ask --get-signal-info) || code=$?
	# Stopped after its time: it would not answer the next question either.
	[ $code -lt 128 ] || return
	signal=$(printf '%s\n' "$signal" | flatten | uqmi_signal)
	serving=$(ask --get-serving-system | flatten)
	[ -n "$signal$serving" ] || return
	served() { printf '%s\n' "$serving" | value_of "$1"; }
	rat=$(printf '%s\n' "$signal" | rat_of_signal)
	[ -n "$rat" ] || rat=$(rat_of "$(served radio_interface.0)" "$(served radio_interface.1)")
	registration=$(registration_of "$(served registration)")
	[ "$registration$(served roaming)" != hometrue ] || registration=roaming
	plmn=$(plmn_of "$(served plmn_mcc)" "$(served plmn_mnc)")
	operator=$(served plmn_description)
	sim=$(plmn_of_imsi "$(ask --get-imsi | flatten | value_of '')")
	modem_samples
}

# Prints the flattened signal of uqmi on stdin with the words of ModemManager. It is an object, or a list of them if the modem is
# on LTE and 5G. The member `type` says what the figures of each are.
uqmi_signal() {
	awk -F '\t' '
		BEGIN { ours["5gnr"] = "5g"; ours["lte"] = "lte"; ours["wcdma"] = ours["tdma"] = "umts"; ours["gsm"] = "gsm" }
		match($1, /[^.]*$/) {
			leg = substr($1, 1, RSTART - 1)
			figure = substr($1, RSTART)
			if (figure == "type") technology[leg] = ours[$2]
			else if (figure == "signal") figure = "rssi"
			if (technology[leg] != "" && figure ~ /^(rssi|rsrp|rsrq|snr)$/) print technology[leg] "." figure "\t" $2
		}' | while IFS="$(printf '\t')" read -r figure value; do
		case $figure in *.snr) value=$(snr_of "$value") ;; esac
		printf '%s\t%s\n' "$figure" "$value"
	done
}

# Reports a modem by ModemManager. $1: index  $2: name. Returns 1 if the modem does not answer.
# The service reads the output of ModemManager itself; see `POST /adapters/modemmanager`. Here it is mapped, to be buffered.
collect_mmcli() {
	local index=$1 name=$2 at signal code=0 modem card rat registration plmn operator sim state
	at=$(uptime_s)
	signal=$(limited 10 mmcli -m "$index" -J --signal-get 2>/dev/null) || code=$?
	[ $code -lt 128 ] || return
	signal=$(printf '%s\n' "$signal" | flatten |
		sed -n '/\t--$/d;s/^modem\.signal\.\([^.]*\.\(rssi\|rscp\|rsrp\|rsrq\|snr\)\t\)/\1/p')
	modem=$(cat "$RUN_DIR/modem.$index")
	[ -n "$signal$modem" ] || return
	said() { printf '%s\n' "$modem" | value_of "modem.$1" | grep -v '^--$'; }
	rat=$(rat_of $(printf '%s\n' "$modem" | sed -n 's/^modem\.generic\.access-technologies\.[0-9]*\t//p'))
	[ -n "$rat" ] || rat=$(printf '%s\n' "$signal" | rat_of_signal)
	registration=$(registration_of "$(said 3gpp.registration-state)")
	state=$(state_of "$(said generic.state)")
	plmn=$(said 3gpp.operator-code)
	operator=$(said 3gpp.operator-name)
	card=$(said generic.sim)
	[ -z "$card" ] || card=$(limited 10 mmcli -i "${card##*/}" -J 2>/dev/null | flatten)
	sim=$(printf '%s\n' "$card" | value_of sim.properties.operator-code)
	case $sim in [0-9][0-9][0-9][0-9][0-9]*) ;; *) sim=$(plmn_of_imsi "$(printf '%s\n' "$card" | value_of sim.properties.imsi)") ;; esac
	modem_samples
}

# Prints our word for a registration of ModemManager, as text or number, or of uqmi.
registration_of() {
	case $1 in
	home | home-* | registered | 1 | 6 | 9) echo home ;;
	roaming | roaming-* | 5 | 7 | 10) echo roaming ;;
	searching | 2) echo searching ;;
	denied | registering_denied | 3) echo denied ;;
	idle | not_registered | 0) echo not_registered ;;
	emergency-only | attached-rlos | 8 | 11) echo emergency_only ;;
	unknown | 4) echo unknown ;;
	esac
}

# Prints our word for a state of ModemManager.
state_of() {
	case $1 in
	connected | connecting | registered | searching | failed | disabled) echo "$1" ;;
	disabling) echo disabled ;;
	locked) echo failed ;;
	disconnecting | enabling | enabled | initializing) echo disconnected ;;
	esac
}

# Prints our word for the newest of the access technologies of ModemManager or uqmi.
rat_of() {
	case " $* " in
	*' 5gnr '*) case " $* " in *' lte '*) echo nr-nsa ;; *) echo nr-sa ;; esac ;;
	*' lte '*) echo lte ;;
	*' lte-cat-m '*) echo lte-m ;;
	*' lte-nb-iot '*) echo nb-iot ;;
	*' hspa-plus '* | *' hspa '* | *' hsupa '* | *' hsdpa '*) echo hspa ;;
	*' umts '* | *' td-scdma '*) echo umts ;;
	*' edge '* | *' gprs '* | *' gsm '* | *' gsm-compact '*) echo gsm ;;
	*' none '*) echo none ;;
	esac
}

# Prints our word for the technologies of a signal on stdin.
rat_of_signal() { rat_of $(sed 's/\..*//;s/^5g$/5gnr/'); }

# Prints the members of a signal on stdin: lines of `technology.figure`, a tab and the value, as ModemManager names them.
signal_members() {
	local signal technology=lte
	signal=$(cat)
	figure() { printf '%s\n' "$signal" | value_of "$1"; }
	has() { printf '%s\n' "$signal" | grep -q "^$1\\."; }
	# The figures of 5G beside LTE are those of a second leg.
	if has lte && has 5g; then
		member nrRsrpDbm "$(figure 5g.rsrp)"
		member nrRsrqDb "$(figure 5g.rsrq)"
		member nrSinrDb "$(figure 5g.snr)"
	fi
	has lte || for technology in 5g umts gsm; do has $technology && break; done
	member rssiDbm "$(figure $technology.rssi)"
	member rsrpDbm "$(figure $technology.rsrp)"
	member rsrqDb "$(figure $technology.rsrq)"
	member sinrDb "$(figure $technology.snr)"
}

# Prints the samples of a modem that has answered. The caller has the variables.
modem_samples() {
	local about
	# A modem that is not registered, and measures nothing, has no service.
	case $rat$registration in searching | denied | not_registered) rat=none ;; esac
	about=$(
		member modem "$name" text
		member simPlmn "$sim" text
	)
	sample cellular "$at" "$(
		member rat "$rat" text
		printf '%s\n' "$signal" | signal_members
		member plmn "$plmn" text
		member operatorName "$operator" text
	)" "$about"
	sample connection "$at" "$(
		member registration "$registration" text
		member rat "$rat" text
		member plmn "$plmn" text
		member operatorName "$operator" text
		uplink_members "$name" "$state"
	)" "$about"
}
