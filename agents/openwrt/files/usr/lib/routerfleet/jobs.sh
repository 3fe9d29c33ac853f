# Takes jobs and runs each id and attempt once. The result is stored before it is reported.

RECORD=$STATE_DIR/job
# A job that was rolled back and whose report the service refused, because it had begun another attempt: the id, and the detail.
ROLLED_BACK=$STATE_DIR/rolled-back

# Stores the state of the job: id, attempt, phase (running, restarting, or how it ended), boot, and the detail.
record() {
	PHASE=$1
	printf '%s %s %s %s\n%s\n' "$JOB_ID" "$JOB_ATTEMPT" "$1" "$(boot_id)" "$2" | write_file "$RECORD"
}

read_record() {
	[ -s "$RECORD" ] || return 1
	read -r JOB_ID JOB_ATTEMPT PHASE JOB_BOOT <"$RECORD"
	JOB_DETAIL=$(sed -n 2p "$RECORD")
}

# Reports a status. $1: status  $2: detail  $3: progress  $4: code. Returns 0 if the service has it, or does not want it any more.
report_status() {
	printf '{"attempt":%s,"status":"%s"%s%s%s}' "$JOB_ATTEMPT" "$1" "${2:+,\"detail\":$(quoted "$2")}" \
		"${3:+,\"progress\":$3}" "${4:+,\"code\":\"$4\"}" >"$RUN_DIR/status"
	call status POST "/device/jobs/$JOB_ID/status" 30 -H 'Content-Type: application/json' --data-binary "@$RUN_DIR/status"
	CANCELLED=$(flatten <"$RUN_DIR/answer.status" 2>/dev/null | value_of cancelRequested)
	case $HTTP_STATUS in
	200 | 404 | 409) return 0 ;;
	esac
	return 1
}

# Stores the result and reports it until the service has it. $1: status, or `rolled_back`, which is a failure with this code
finish() {
	log "job $JOB_ID: $1. $2"
	record "$1" "$2"
	report_result "$1" "$2"
}

report_result() {
	rm -rf "$CONFIG_BACKUP"
	settle_profile "$1"
	if [ "$1" = rolled_back ]; then
		# An earlier service refuses the code.
		report_status failed "$2" '' rolled_back || { [ "$HTTP_STATUS" = 400 ] && report_status failed "$2"; } || return 1
		if [ "$HTTP_STATUS" = 200 ]; then
			rm -f "$ROLLED_BACK"
		else
			printf '%s\n%s\n' "$JOB_ID" "$2" | write_file "$ROLLED_BACK"
		fi
	else
		report_status "$1" "$2" || return 1
	fi
	close_job
	# The other process tries again.
	report_config || :
}

# Notes that nothing remains to be reported of the attempt.
close_job() {
	PHASE=reported
	printf '%s %s reported -\n\n' "$JOB_ID" "$JOB_ATTEMPT" | write_file "$RECORD"
}

# Reports that the job goes on. $1: progress. Returns 1 if the attempt has ended: the service refused it, or it was cancelled.
go_on() {
	report_status inProgress '' "$1"
	case $HTTP_STATUS in
	# There is a newer attempt, or the job has ended or belongs to another device.
	400 | 404 | 409)
		log "job $JOB_ID: the service refused attempt $JOB_ATTEMPT with status $HTTP_STATUS"
		close_job
		return 1
		;;
	esac
	[ "$CANCELLED" = true ] || return 0
	finish rejected 'Cancelled.'
	return 1
}

# Reports what the last run left: a result, or a restart that has happened or not.
resume_job() {
	read_record || return 0
	case $PHASE in
	reported) return 0 ;;
	succeeded | failed | rejected | rolled_back) report_result "$PHASE" "$JOB_DETAIL" ;;
	restarting)
		if [ "$JOB_BOOT" = "$(boot_id)" ]; then finish failed 'The router did not restart.'; else finish succeeded 'Restarted.'; fi
		;;
	installing)
		# The detail is the expected version.
		if [ "$(release)" = "$JOB_DETAIL" ]; then
			finish succeeded "Version $JOB_DETAIL runs."
		else
			finish failed "The router runs version $(release) and not $JOB_DETAIL."
		fi
		;;
	applying) resume_config ;;
	*) finish failed 'The agent was stopped during the job.' ;;
	esac
}

# Waits for a job and runs it. Returns 1 if there is no answer.
take_job() {
	local wait=$1 job
	resume_job || return 1
	call next GET "/device/jobs/next?waitSeconds=$wait" $((wait + 20))
	case $HTTP_STATUS in
	204) return 0 ;;
	200) ;;
	*) return 1 ;;
	esac
	job=$(flatten <"$RUN_DIR/answer.next") || return 1
	local id attempt kind
	id=$(printf '%s\n' "$job" | value_of id)
	attempt=$(printf '%s\n' "$job" | value_of attempt)
	kind=$(printf '%s\n' "$job" | value_of kind)
	# Delivered again, although it has ended. The service has not seen the result.
	if read_record && [ "$JOB_ID $JOB_ATTEMPT" = "$id $attempt" ]; then
		[ "$PHASE" = reported ] && return 0
		resume_job
		return
	fi
	JOB_ID=$id JOB_ATTEMPT=$attempt
	# The same profile would cut the router off again.
	if [ "$(sed -n 1p "$ROLLED_BACK" 2>/dev/null)" = "$id" ]; then
		finish rolled_back "$(sed -n 2p "$ROLLED_BACK")"
		return
	fi
	if [ "$(printf '%s\n' "$job" | value_of cancelRequested)" = true ]; then
		finish rejected 'Cancelled.'
		return
	fi
	# Without a record, a job that restarts the router would run again and again.
	record running '' || {
		finish failed 'The state of the job could not be stored.'
		return
	}
	go_on '' || {
		[ "$PHASE" = reported ]
		return
	}
	case $HTTP_STATUS in
	# The service delivers the job again when the router may report.
	401 | 402 | 403)
		rm -f "$RECORD"
		return 1
		;;
	esac
	# Also without an answer: if only the answer was lost, the service does not deliver the job again.
	case $kind in
	reboot) run_reboot ;;
	apply_config) run_config "$job" ;;
	firmware_update) run_firmware "$job" ;;
	*) finish rejected "The agent does not support $kind." ;;
	esac
}

run_reboot() {
	record restarting ''
	sync
	reboot || finish failed 'The router refused to restart.'
	# The router restarts during this pause.
	[ "$PHASE" = reported ] || sleep "${REBOOT_WAIT:-120}"
}
