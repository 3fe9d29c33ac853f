# Applies a config profile with uci. Its settings have the member `uci`: package, section, option, value or list of values.
# The type of a new section is its option `_type`. Without a connection to the service afterwards, the old config returns.

CONFIG_BACKUP=$STATE_DIR/config-backup

valid_name() {
	case $1 in '' | *[!A-Za-z0-9_-]*) return 1 ;; esac
}

run_config() {
	local settings packages package version
	# Without a version it is not known what the router would run.
	version=$(printf '%s\n' "$1" | value_of parameters.profile.version)
	case $version in '' | 0 | *[!0-9]*)
		finish rejected 'The profile has no version.'
		return
		;;
	esac
	# The service sorts the members, and uci sets no option of a section that it does not have, so the types are first.
	settings=$(printf '%s\n' "$1" | sed -n 's/^parameters\.profile\.settings\.uci\.//p' |
		awk '/^[^\t]*\._type\t/ { print; next } { others = others $0 "\n" } END { printf "%s", others }')
	packages=$(printf '%s\n' "$settings" | cut -f1 | cut -d. -f1 | sort -u)
	[ -n "$packages" ] || {
		finish rejected 'The settings have no member uci.'
		return
	}
	rm -rf "$CONFIG_BACKUP" && mkdir -p "$CONFIG_BACKUP"
	for package in $packages; do
		if [ "$package" = routerfleet ] || ! valid_name "$package"; then
			finish rejected "The package $package cannot be configured by a profile."
			return
		fi
		uci -q export "$package" >/dev/null || {
			finish failed "There is no package $package."
			return
		}
		# uci does not tell of a full flash here, and cat does.
		uci -q export "$package" | cat >"$CONFIG_BACKUP/$package" || {
			finish failed 'The old config could not be stored.'
			return
		}
	done
	if ! prepare_profile || ! record applying ''; then
		finish failed 'The state of the config could not be stored.'
		return
	fi
	if ! printf '%s\n' "$settings" | set_options >"$RUN_DIR/uci-error" 2>&1; then
		for package in $packages; do uci -q revert "$package"; done
		finish failed "uci refused a value: $(head -c 200 "$RUN_DIR/uci-error")"
		return
	fi
	for package in $packages; do
		uci commit "$package" && continue
		undo_config failed "The package $package could not be written, so the old config was restored."
		return
	done
	reload_config
	if service_answers "$ROLLBACK_SECONDS"; then
		finish succeeded 'The config is active.'
	else
		undo_config rolled_back "The service could not be reached for $ROLLBACK_SECONDS s, so the old config was restored."
	fi
}

# Restores the old config, and then ends the job. $1: how it ends  $2: detail. Returns 1 if not everything was restored: the
# next turn tries again.
undo_config() {
	restore_config || {
		# The detail is how the job will end.
		record applying "$1 $2"
		return 1
	}
	finish "$1" "$2"
}

resume_config() {
	case $JOB_DETAIL in
	'failed '* | 'rolled_back '*) undo_config "${JOB_DETAIL%% *}" "${JOB_DETAIL#* }" ;;
	*) undo_config rolled_back 'The router stopped or had no space while it applied the config, so the old one was restored.' ;;
	esac
}

# Reads lines `package.section.option[.index]`, tab, value.
set_options() {
	local path value package section option rest list cleared=' ' control empty
	control=$(printf '\001') empty=$(printf '\002')
	while IFS='	' read -r path value; do
		package=${path%%.*} rest=${path#*.}
		section=${rest%%.*} rest=${rest#*.}
		option=${rest%%.*} list=
		[ "$rest" != "$option" ] && list=1
		valid_name "$section" && valid_name "$option" || {
			echo "invalid name: $path"
			return 1
		}
		case $value in
		*"$control"*)
			echo "a line break or another control character in $path"
			return 1
			;;
		esac
		if [ "$option" = _type ]; then
			uci set "$package.$section=$value" || return 1
		elif [ -n "$list" ]; then
			case $cleared in
			*" $package.$section.$option "*) ;;
			*)
				uci -q delete "$package.$section.$option"
				cleared="$cleared$package.$section.$option "
				;;
			esac
			uci add_list "$package.$section.$option=$value" || return 1
		elif [ "$value" = null ] || [ "$value" = "$empty" ]; then
			# The router may not have it.
			uci -q delete "$package.$section.$option" || :
		else
			uci set "$package.$section.$option=$value" || return 1
		fi
	done
}

# Returns 1 if a package could not be written. Then the copy of all remains.
restore_config() {
	local file code=0
	[ -d "$CONFIG_BACKUP" ] || return 0
	for file in "$CONFIG_BACKUP"/*; do
		[ -e "$file" ] || continue
		restore_package "$file" && continue
		# Samples that were saved before a restart are worth less than the way to the service.
		rm -rf "$SAVED_DIR"
		restore_package "$file" || {
			log "cannot restore $(basename "$file")"
			code=1
		}
	done
	reload_config
	[ $code = 0 ] || return 1
	rm -rf "$CONFIG_BACKUP"
}

restore_package() {
	local package
	package=$(basename "$1")
	# Changes that are not committed yet would be added to the old config.
	uci -q revert "$package"
	uci import "$package" <"$1" && uci commit "$package"
}

# Returns whether the service answers within some seconds. A connection can set the clock, so the time is that since the start.
service_answers() {
	local until=$(($(uptime_s) + $1))
	# The old config serves until it is replaced.
	sleep "${SETTLE_SECONDS:-15}"
	while [ "$(uptime_s)" -lt "$until" ]; do
		sleep 2
		call check GET /device/config 10
		# Any status is of the service, but a redirect and 511 are of a network that asks for a login.
		case $HTTP_STATUS in
		304) return 0 ;;
		000 | 3?? | 511) ;;
		*) return 0 ;;
		esac
	done
	return 1
}
