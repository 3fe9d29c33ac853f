# Shared by all parts of the agent. Variables come from the init script.

: "${STATE_DIR:=/etc/routerfleet}" "${RUN_DIR:=/tmp/routerfleet}"
: "${LIB_DIR:=/usr/lib/routerfleet}" "${INTERVAL:=60}" "${BUFFER_KB:=1024}" "${PROC:=/proc}"
: "${MODEM:=}" "${MODEM_DEVICE:=/dev/cdc-wdm0}" "${WAN_INTERFACE:=wan}" "${FIRMWARE_KEYS:=/etc/routerfleet/keys}"
: "${RELEASE_FILE:=/etc/openwrt_release}"
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
