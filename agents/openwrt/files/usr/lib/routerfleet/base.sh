# Shared by all parts of the agent. Variables come from the init script.

: "${STATE_DIR:=/etc/routerfleet}" "${RUN_DIR:=/tmp/routerfleet}"
: "${LIB_DIR:=/usr/lib/routerfleet}" "${INTERVAL:=60}" "${BUFFER_KB:=1024}" "${PROC:=/proc}"
: "${MODEM:=}" "${MODEM_DEVICE:=/dev/cdc-wdm0}" "${WAN_INTERFACE:=wan}" "${FIRMWARE_KEYS:=/etc/routerfleet/keys}"
: "${RELEASE_FILE:=/etc/openwrt_release}"

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
		END { print seconds > most ? most : seconds + 0 }'
}

# Exchanges the enrollment key for a token, once.
enroll() {
	[ -s "$STATE_DIR/token" ] && return 0
	local body
	body="{\"enrollmentKey\":$(quoted "$ENROLLMENT_KEY"),\"serial\":$(quoted "$SERIAL"),\"model\":$(quoted "$MODEL")}"
	printf '%s' "$body" >"$RUN_DIR/enrollment"
	call enroll POST /device/enroll 30 -H 'Content-Type: application/json' --data-binary "@$RUN_DIR/enrollment"
	rm -f "$RUN_DIR/enrollment"
	if [ "$HTTP_STATUS" = 201 ]; then
		flatten <"$RUN_DIR/answer.enroll" | value_of token | write_file "$STATE_DIR/token"
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
