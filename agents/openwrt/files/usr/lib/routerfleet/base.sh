# Shared by all parts of the agent. Variables come from the init script.

: "${STATE_DIR:=/etc/routerfleet}" "${RUN_DIR:=/tmp/routerfleet}"
: "${LIB_DIR:=/usr/lib/routerfleet}" "${INTERVAL:=60}" "${BUFFER_KB:=1024}" "${PROC:=/proc}"
: "${MODEM:=}" "${MODEM_DEVICE:=}" "${DEV:=/dev}" "${SYS:=/sys}" "${WAN_INTERFACE:=wan}" "${FIRMWARE_KEYS:=/etc/routerfleet/keys}"
: "${ROLLBACK_SECONDS:=600}" "${RELEASE_FILE:=/etc/openwrt_release}" "${PACKAGES:=/usr/lib}"
# The part of the agent that this process runs. Its files have this name, because the parts run at the same time.
: "${PART:=agent}"

umask 077
mkdir -p "$STATE_DIR" "$RUN_DIR"

log() { echo "routerfleet-agent: $*" >&2; }

# Runs a command for at most some seconds, so that a modem that does not answer blocks nothing. Its output is in a file: a
# process that the command leaves behind would keep a pipe open.
limited() {
	local seconds=$1 output=$RUN_DIR/output.$$ command watch code=0
	shift
	"$@" >"$output" </dev/null &
	command=$!
	(
		while [ "$seconds" -gt 0 ] && kill -0 $command; do
			sleep 1
			seconds=$((seconds - 1))
		done
		kill -9 $command
	) >/dev/null 2>&1 </dev/null &
	watch=$!
	wait $command 2>/dev/null || code=$?
	kill $watch 2>/dev/null
	wait $watch 2>/dev/null
	cat "$output"
	return $code
}

# Prints each value of the JSON on stdin as a line: path, tab, value.
flatten() { awk -f "$LIB_DIR/flatten.awk"; }

# Prints the value at a path of flattened JSON on stdin; nothing if there is none.
value_of() { awk -F '\t' -v path="$1" '$1 == path { sub(/^[^\t]*\t/, ""); print; exit }'; }

# Prints text as a JSON string.
quoted() { printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037' | sed 's/[\\"]/\\&/g')"; }

# Writes stdin to a file on flash: the old or the new content is there, whatever happens.
write_file() {
	cat >"$1.new" && sync && mv "$1.new" "$1"
}

# The time, as far as it is known. OpenWrt starts with the time of its newest file, which can be weeks ago, so the clock of the
# router counts only after the time service has set it in this boot. Before that, a response of a server tells the time.
# $RUN_DIR/clock has the boot, the seconds between the start of the router and 1970, and who said so.

uptime_s() { cut -d. -f1 "$PROC/uptime"; }

boot_id() { cat "$PROC/sys/kernel/random/boot_id" 2>/dev/null; }

# Prints the seconds from 1970 to the start of the router; nothing while they are not known.
clock_offset() { awk -v boot="$(boot_id)" '$1 == boot { print $2 }' "$RUN_DIR/clock" 2>/dev/null; }

# Notes the time. A later one that differs by two seconds at most changes nothing, so that a sample that is sent again has the
# same time. $1: seconds since 1970  $2: `service`, the time service, or `server`, which it overrules
learn_clock() {
	local offset known error
	case $1 in '' | *[!0-9]*) return 0 ;; esac
	offset=$(($1 - $(uptime_s)))
	known=$(clock_offset)
	if [ -n "$known" ]; then
		[ "$2" = service ] || ! grep -q ' service$' "$RUN_DIR/clock" || return 0
		error=$((offset - known))
		[ "$error" -lt -2 ] || [ "$error" -gt 2 ] || offset=$known
	fi
	printf '%s %s %s\n' "$(boot_id)" "$offset" "$2" >"$RUN_DIR/clock.$$" && mv "$RUN_DIR/clock.$$" "$RUN_DIR/clock"
}

# Asks chronyd, which has no hotplug events, whether it has set the clock.
ask_chrony() {
	command -v chronyc >/dev/null || return 0
	case $(limited 5 chronyc -c tracking 2>/dev/null) in
	*,Normal | *,'Insert second' | *,'Delete second') learn_clock "$(date +%s)" service ;;
	esac
}

# Prints the seconds since 1970 of the header Date in the file $1; nothing if there is none.
date_of_head() {
	tr -d '\r' <"$1" 2>/dev/null | awk '
		tolower($1) == "date:" && NF == 7 && $7 == "GMT" && split($6, time, ":") == 3 {
			month = (index("JanFebMarAprMayJunJulAugSepOctNovDec", $4) + 2) / 3
			if (month < 1 || month != int(month)) next
			# Days since 1970, with the year beginning in March.
			year = $5 - (month < 3)
			days = 365 * year + int(year / 4) - int(year / 100) + int(year / 400)
			days += int((153 * (month + (month < 3 ? 9 : -3)) + 2) / 5) + $3 - 1 - 719468
			seconds = days * 86400 + time[1] * 3600 + time[2] * 60 + time[3]
		}
		END { if (seconds > 0) printf "%.0f", seconds }'
}

# Gives the samples on stdin their times: `ts` if the time is known, otherwise `ageMs`. `at` is the time since the start of the
# router, so samples of another start have no time and are left out, and so are those that are too old for an age.
date_samples() {
	awk -v boot="$(boot_id)" -v offset="$(clock_offset)" -v now="$(uptime_s)" '
		/^\{"boot":/ {
			split($0, parts, "\"")
			isOwn = parts[4] == boot
			next
		}
		match($0, /"at":[0-9]+/) {
			at = substr($0, RSTART + 5, RLENGTH - 5)
			if (!isOwn || (offset == "" && now - at > 86400)) next
			time = offset == "" ? "\"ageMs\":" (now > at ? sprintf("%.0f000", now - at) : 0) : "\"ts\":" sprintf("%.0f000", at + offset)
			$0 = substr($0, 1, RSTART - 1) time substr($0, RSTART + RLENGTH)
		}
		{ print }'
}

# Calls the service. Sets HTTP_STATUS (000 without an answer), and writes the body to $RUN_DIR/answer.$1.
# $1: name of the caller  $2: method  $3: path  $4: seconds  more: options of curl
call() {
	local name=$1 method=$2 path=$3 seconds=$4
	shift 4
	# The token is in a file, because other processes can read a command line.
	printf 'Authorization: Bearer %s\n' "$(cat "$STATE_DIR/token" 2>/dev/null)" >"$RUN_DIR/headers.$name"
	: >"$RUN_DIR/answer.$name"
	HTTP_STATUS=$(curl -sS -o "$RUN_DIR/answer.$name" -D "$RUN_DIR/head.$name" -w '%{http_code}' -X "$method" \
		--connect-timeout 10 --max-time "$seconds" -H "@$RUN_DIR/headers.$name" "$@" "$SERVICE_URL$path" \
		2>"$RUN_DIR/error.$name") || HTTP_STATUS=000
	local now
	now=$(date_of_head "$RUN_DIR/head.$name")
	[ "$HTTP_STATUS" = 000 ] || [ -z "$now" ] || learn_clock "$now" server
}

# Prints the seconds of Retry-After, at most $2, or 0.
retry_after() {
	tr -d '\r' <"$RUN_DIR/head.$1" 2>/dev/null | awk -v most="$2" '
		tolower($1) == "retry-after:" && $2 ~ /^[0-9]+$/ { seconds = $2 + 0 }
		END { print (seconds > most ? most : seconds + 0) }'
}

# Takes a lock that the processes of the agent share: a link to the id of its holder. Takes it over from a process that has
# ended. After a minute, goes on without it: the id can belong to another program after a kill, or /tmp is full. $1: name
take_lock() {
	local link=$RUN_DIR/lock.$1 holder seconds=0
	until ln -s $$ "$link" 2>/dev/null; do
		holder=$(readlink "$link")
		if [ -n "$holder" ] && { [ "$holder" = $$ ] || ! kill -0 "$holder" 2>/dev/null; }; then
			mv "$link" "$link.$$" 2>/dev/null
			# Another process can have taken it over in this moment: it gets its lock back.
			[ "$(readlink "$link.$$")" = "$holder" ] || mv "$link.$$" "$link" 2>/dev/null
			rm -f "$link.$$"
			ln -s $$ "$link" 2>/dev/null && return
		fi
		[ $seconds -lt 60 ] || break
		sleep 1
		seconds=$((seconds + 1))
	done
}

drop_lock() {
	[ "$(readlink "$RUN_DIR/lock.$1")" != $$ ] || rm -f "$RUN_DIR/lock.$1"
}

# Whether the router has a token. A file without text is none: a power cut can leave it.
has_token() { grep -q '[^[:space:]]' "$STATE_DIR/token" 2>/dev/null; }

# Prints the nonce of this router. With it, the service repeats its answer to an enrollment whose answer was lost.
enrollment_nonce() {
	grep -q '[^[:space:]]' "$STATE_DIR/nonce" 2>/dev/null ||
		tr -dc a-z0-9 </dev/urandom | head -c 32 | write_file "$STATE_DIR/nonce"
	cat "$STATE_DIR/nonce"
}

# Exchanges the enrollment key for a token, once, also if both processes call it at the same time.
enroll() {
	local code=0
	take_lock enroll
	has_token || exchange_key || code=1
	drop_lock enroll
	return $code
}

exchange_key() {
	local body token nonce
	nonce=$(enrollment_nonce) || {
		log "cannot write to $STATE_DIR"
		return 1
	}
	body="{\"enrollmentKey\":$(quoted "$ENROLLMENT_KEY"),\"serial\":$(quoted "$SERIAL"),\"model\":$(quoted "$MODEL")"
	printf '%s,"nonce":%s}' "$body" "$(quoted "$nonce")" >"$RUN_DIR/enrollment.$PART"
	call "enroll.$PART" POST /device/enroll 30 -H 'Content-Type: application/json' \
		--data-binary "@$RUN_DIR/enrollment.$PART"
	rm -f "$RUN_DIR/enrollment.$PART"
	token=$(flatten <"$RUN_DIR/answer.enroll.$PART" | value_of token)
	rm -f "$RUN_DIR/answer.enroll.$PART"
	if [ "$HTTP_STATUS" = 201 ] && [ -n "$token" ] && printf '%s\n' "$token" | write_file "$STATE_DIR/token"; then
		log 'enrolled'
	else
		log "enrollment failed with status $HTTP_STATUS"
		return 1
	fi
}

# The serial and the model of the board, unless they are configured.
identify() {
	[ -n "${SERIAL:-}" ] || SERIAL=$(cat /sys/class/net/eth0/address 2>/dev/null | tr -d ':')
	[ -n "${MODEL:-}" ] || MODEL=$(cat /tmp/sysinfo/model 2>/dev/null || uname -m)
}
