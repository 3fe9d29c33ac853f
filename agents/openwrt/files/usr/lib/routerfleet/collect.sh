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

# Prints a sample that has members. $2: seconds since the start of the router, which become a time when the sample is sent.
# $3: members  $4: members that say what the sample is about
sample() { [ -n "$3" ] && printf '{"kind":"%s","at":%s%s%s}\n' "$1" "$2" "${4:-}" "$3"; }

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

# Reports all modems. One that does not answer is reported with its interface alone. A router without modems reports its uplink.
collect_modems() {
	local list known='' names modems tool id name answered=' '
	NETWORK=$(limited 5 ubus call network.interface dump 2>/dev/null | flatten)
	[ "$MODEM" = none ] || known=$(cat "$STATE_DIR/modems" 2>/dev/null)
	# At most 16, as many as the service takes.
	list=$(list_modems | awk '$3 in seen || (++modems <= 16) { seen[$3]; print }')
	names=$(printf '%s\n' "$list" | awk 'NF && !seen[$3]++ { print $3 }')
	modems=$(printf '%s\n' "$names" | grep -c .)
	while read -r tool id name; do
		case $answered in *" $name "*) continue ;; esac
		case $tool in uqmi | mmcli) "collect_$tool" "$id" "$name" && answered="$answered$name " ;; esac
	done <<-EOF
		$list
	EOF
	for name in ${names:-$(absent_modem)}; do
		case $answered in *" $name "*) continue ;; esac
		# While all of several modems are away, the uplink belongs to none of them.
		case "$name $known" in '-- '*' '*) continue ;; esac
		sample connection "$(uptime_s)" "$(uplink_members "$name")" "$(member modem "$name" text)"
	done
	# Only a new name is written, because flash wears out.
	for name in $names; do
		case " $known -- " in *" $name "*) continue ;; esac
		echo $names | write_file "$STATE_DIR/modems"
		break
	done
}

# Prints the name of the only modem that the router had, so that its rows stay the same while it is away, as at the start of the
# router; `--` if there is none or more.
absent_modem() {
	case $known in '' | *' '*) echo -- ;; *) echo "$known" ;; esac
}

# Prints the members of the uplink of a modem: its own interfaces, or `wan_interface` if it is the only modem, or there is none.
# $1: name  $2: the state of the modem, which says more about an uplink that is down
uplink_members() {
	local status device
	status=$(printf '%s\n' "$NETWORK" | interfaces_of "$1")
	[ -n "$status" ] || [ "$modems" -gt 1 ] ||
		status=$(limited 5 ubus call "network.interface.$WAN_INTERFACE" status 2>/dev/null | flatten)
	device=$(printf '%s\n' "$status" | value_of l3_device)
	case $(printf '%s\n' "$status" | value_of up) in
	true) member state connected text ;;
	false) member state "${2:-disconnected}" text ;;
	*) member state "${2:-}" text ;;
	esac
	member interface "$device" text
	member wanIp "$(printf '%s\n' "$status" | value_of ipv4-address.0.address)" text
	member uptimeS "$(printf '%s\n' "$status" | value_of uptime)"
	member rxBytes "$(cat "$SYS/class/net/$device/statistics/rx_bytes" 2>/dev/null)"
	member txBytes "$(cat "$SYS/class/net/$device/statistics/tx_bytes" 2>/dev/null)"
}

# Prints what the flattened list of interfaces on stdin says about those of a modem: of several, the first that is up, and what it
# lacks from the others, because netifd keeps the address in an interface of its own. $1: name
interfaces_of() {
	# A modem that divides its interface has the parts as its upper ones.
	awk -F '\t' -v devices=" $1 $(cd "$SYS/class/net/$1" 2>/dev/null && echo upper_* | sed 's/upper_//g') " '
		match($1, /^interface\.[0-9]+\./) {
			number = substr($1, 11, RLENGTH - 11) + 0
			last = number
			value[number, substr($1, RLENGTH + 1)] = $2
		}
		END {
			names = split("up l3_device uptime ipv4-address.0.address", name, " ")
			for (wanted = 1; wanted >= 0; wanted--)
				for (number = 0; number <= last; number++) {
					device = value[number, "l3_device"]
					if (device == "") device = value[number, "device"]
					if (device == "" || !index(devices, " " device " ") || (value[number, "up"] == "true") != wanted) continue
					value[number, "l3_device"] = device
					for (i = 1; i <= names; i++)
						if (found[i] == "") found[i] = value[number, name[i]]
				}
			for (i = 1; i <= names; i++) if (found[i] != "") print name[i] "\t" found[i]
		}'
}

# Prints the horizontal error of gpsd before 3.20, which has the errors of longitude $1 and latitude $2; nothing if it sent neither.
horizontal_error() {
	[ -n "$1$2" ] || return 0
	awk -v x="$1" -v y="$2" 'BEGIN {
		number = "^[0-9]+([.][0-9]+)?$"
		if (x !~ number || y !~ number) { print "unknown"; exit }
		# The root of the squares by the method of Newton, because BusyBox can lack sqrt.
		error = x + y
		for (step = 0; step < 9 && error > 0; step++) error = (error + (x * x + y * y) / error) / 2
		printf "%.3f", error
	}'
}

# The newest position that gpsd reports within five seconds.
collect_gpsd() {
	local report fix='' altitude=altMSL error
	command -v gpspipe >/dev/null || return 0
	report=$(limited 8 gpspipe -w -n 12 -x 5 2>/dev/null | grep '"class":"TPV"' | tail -n 1 | flatten) || return 0
	field() { printf '%s\n' "$report" | value_of "$1"; }
	case $(field mode) in
	1) fix=none ;;
	2) fix=2d ;;
	3) fix=3d ;;
	*) return 0 ;;
	esac
	[ -n "$(field altMSL)" ] || altitude=alt
	# As text: the service must see that an error was sent, also if it is not a number.
	error=$(field eph)
	[ -n "$error" ] || error=$(horizontal_error "$(field epx)" "$(field epy)")
	# The report is a second old at most. The receiver's own date can be wrong by 1024 weeks.
	sample location "$(uptime_s)" "$(
		member fix "$fix" text
		member source gnss text
		if [ "$fix" != none ]; then
			member lat "$(field lat)"
			member lon "$(field lon)"
			member altitudeM "$(field "$altitude")"
			member speedMps "$(field speed)"
			member headingDeg "$(field track)"
			member accuracyM "$error" text
		fi
	)"
}

collect() {
	grep -qs ' service$' "$RUN_DIR/clock" || ask_chrony
	collect_system "$(uptime_s)"
	collect_modems
	collect_gpsd
}
