# Reports which config the router runs: that of its last profile, or what was changed on the router since.

# The last profile that was applied, as JSON without its secrets. It is empty if the service is too old to receive reports.
PROFILE=$STATE_DIR/profile
: "${UCI_DIR:=/etc/config}"

# Runs a task of profile.awk on the JSON on stdin. $1: task  $2: path of the profile  $3: file with the present options
profile_task() { awk -v task="$1" -v root="$2" -v present="${3:-}" -f "$LIB_DIR/canonical.awk" -f "$LIB_DIR/profile.awk"; }

# Keeps the profile of a job until the job has ended.
prepare_profile() {
	profile_task profile parameters.profile <"$RUN_DIR/answer.next" >"$RUN_DIR/profile" || : >"$RUN_DIR/profile"
	write_file "$PROFILE.next" <"$RUN_DIR/profile"
}

# Notes what the router runs after a job. The service waits for a report after each profile, also after the same one. $1: how the
# job ended
settle_profile() {
	[ -e "$PROFILE.next" ] || return 0
	if [ "$1" = succeeded ]; then
		mv "$PROFILE.next" "$PROFILE"
		rm -f "$RUN_DIR/config-sent"
	else
		rm -f "$PROFILE.next"
	fi
}

# The service receives the config again after each start.
forget_reported_config() { rm -f "$RUN_DIR/config-sent" "$RUN_DIR/config-off" "$RUN_DIR/config-asked"; }

# Reports the config if the profile or a file of uci has changed since the last report. Returns 1 if it must be tried again.
report_config() {
	local code=0
	[ -s "$PROFILE" ] && [ ! -e "$RUN_DIR/config-off" ] || return 0
	take_lock config
	send_config || code=1
	drop_lock config
	return $code
}

# While a config is tried out, the router may return to the old one.
config_is_settled() {
	local phase=
	[ ! -s "$RECORD" ] || read -r _ _ phase _ <"$RECORD"
	case $phase in applying | succeeded | rolled_back) return 1 ;; esac
}

send_config() {
	local sum body=$RUN_DIR/config.json body_sum
	config_is_settled || return 0
	sum=$(cat "$PROFILE" "$UCI_DIR"/* 2>/dev/null | sha256sum)
	[ "$(sed -n 1p "$RUN_DIR/config-sent" 2>/dev/null)" != "$sum" ] || return 0
	write_config_report >"$body" || return 0
	body_sum=$(sha256sum <"$body")
	if [ "$(sed -n 2p "$RUN_DIR/config-sent" 2>/dev/null)" != "$body_sum" ]; then
		# A job can have begun to change the config.
		config_is_settled || return 0
		call config PUT /device/config 30 -H 'Content-Type: application/json' --data-binary "@$body"
		case $HTTP_STATUS in
		200) ;;
		404)
			log 'the service does not receive the config of routers'
			: >"$RUN_DIR/config-off"
			;;
		# It would refuse the same report again.
		400 | 409 | 413 | 422) log "the service refused the config: status $HTTP_STATUS" ;;
		*) return 1 ;;
		esac
	fi
	printf '%s\n%s\n' "$sum" "$body_sum" >"$RUN_DIR/config-sent"
}

# After a start, asks for the last profile if the router does not know it, as after a reset. Returns 1 without an answer.
learn_profile() {
	[ ! -s "$PROFILE" ] && [ ! -e "$RUN_DIR/config-asked" ] && config_is_settled || return 0
	call learn GET /device/config 30
	case $HTTP_STATUS in
	# A job can have brought a newer one.
	200) profile_task profile profile <"$RUN_DIR/answer.learn" >"$RUN_DIR/learned" && [ ! -s "$PROFILE" ] &&
		write_file "$PROFILE" <"$RUN_DIR/learned" ;;
	204 | 404 | 409) ;;
	*) return 1 ;;
	esac
	rm -f "$RUN_DIR/answer.learn" "$RUN_DIR/learned"
	: >"$RUN_DIR/config-asked"
}

# Prints the body of a report. The settings are in it if they are not those of the profile, unless the body would
# have more than 64 KiB.
write_config_report() {
	local profile digest settings=$RUN_DIR/settings
	profile=$(flatten <"$PROFILE") || return 1
	member_of_profile() { printf '%s\n' "$profile" | value_of "$1"; }
	digest=$(member_of_profile digest)
	profile_task options '' <"$PROFILE" | read_options >"$RUN_DIR/options"
	profile_task settings '' "$RUN_DIR/options" <"$PROFILE" >"$settings.new"
	sed -n 2p "$settings.new" | tr -d '\n' >"$settings"
	[ ! -s "$settings" ] || digest=sha256:$(sha256sum <"$settings" | cut -d' ' -f1)
	printf '{"profileId":%s,"version":%s,"digest":"%s"' \
		"$(quoted "$(member_of_profile id)")" "$(member_of_profile version)" "$digest"
	if [ -s "$settings" ] && [ "$(wc -c <"$settings")" -le 65280 ]; then
		printf ',"settings":'
		cat "$settings"
	fi
	printf '}'
}

# Reads names of options, and prints those that uci has with their values as `uci show` prints them.
read_options() {
	local option value
	while read -r option; do
		case $option in
		*._type) value=$(uci -q get "${option%._type}") || continue ;;
		*)
			value=$(uci -q show "$option" | tr '\n' '\001') && [ -n "$value" ] || continue
			value=${value#*=} value=${value%"$(printf '\001')"}
			;;
		esac
		printf '%s\t%s\n' "$option" "$value"
	done
}
