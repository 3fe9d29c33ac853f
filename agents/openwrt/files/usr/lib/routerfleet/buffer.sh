# The samples that the service has not accepted yet: compressed batches in memory, oldest first, within a limit.

BUFFER_DIR=$RUN_DIR/buffer
SAVED_DIR=$STATE_DIR/buffer
OPEN_BATCH=$BUFFER_DIR/open.ndjson
# About an hour of samples, and a third of what a report may have.
BATCH_LINES=300

# Returns batches that were saved before a restart, and starts.
open_buffer() {
	mkdir -p "$BUFFER_DIR"
	local saved name
	for saved in "$SAVED_DIR"/*.gz; do
		name=$(basename "$saved")
		# Without a restart of the router, the batch itself is still there.
		[ ! -e "$saved" ] || [ -e "$BUFFER_DIR/$name" ] || cp "$saved" "$BUFFER_DIR/A${name#[AB]}"
	done
	rm -rf "$SAVED_DIR"
}

# Adds the samples on stdin. `save` can compress the open batch at the same time, and removes it afterwards.
add_samples() {
	cat >"$BUFFER_DIR/taken.$PART"
	take_lock buffer
	cat "$BUFFER_DIR/taken.$PART" >>"$OPEN_BATCH"
	drop_lock buffer
	rm -f "$BUFFER_DIR/taken.$PART"
	[ "$(wc -l <"$OPEN_BATCH")" -ge "$BATCH_LINES" ] && close_batch
	keep_limit
}

# Compresses the open batch.
close_batch() {
	take_lock buffer
	compress_batch
	drop_lock buffer
}

# The name of a batch sorts by age: those of an earlier start begin with A. The first line says of which start it is.
compress_batch() {
	[ -s "$OPEN_BATCH" ] || return 0
	local sequence
	sequence=$(($(cat "$BUFFER_DIR/sequence" 2>/dev/null || echo 0) + 1))
	echo "$sequence" >"$BUFFER_DIR/sequence"
	{
		printf '{"boot":"%s"}\n' "$(boot_id)"
		cat "$OPEN_BATCH"
	} | gzip -c >"$BUFFER_DIR/batch.new" &&
		mv "$BUFFER_DIR/batch.new" "$BUFFER_DIR/B$(printf '%010d-%06d' "$(uptime_s)" "$sequence").gz" && rm -f "$OPEN_BATCH"
}

buffer_kb() { du -sk "$BUFFER_DIR" | cut -f1; }

# Discards the oldest batches above the limit.
keep_limit() {
	local oldest
	while [ "$(buffer_kb)" -gt "$BUFFER_KB" ]; do
		oldest=$(oldest_batch)
		[ -n "$oldest" ] || return 0
		rm -f "$oldest"
		log "the buffer is full: discarded $(basename "$oldest")"
	done
}

oldest_batch() { ls "$BUFFER_DIR"/*.gz 2>/dev/null | head -n 1; }

# Sends all batches, oldest first. Returns 1 as soon as the service does not accept one for now. Sets JOBS_PENDING.
send_buffer() {
	local batch
	close_batch
	# Its answer has the time.
	[ -n "$(clock_offset)" ] || call clock GET /livez 10
	while batch=$(oldest_batch) && [ -n "$batch" ]; do
		zcat "$batch" | date_samples >"$RUN_DIR/report.ndjson"
		if [ ! -s "$RUN_DIR/report.ndjson" ]; then
			log "discarded $(basename "$batch"): the time of its samples is not known"
			rm -f "$batch"
			continue
		fi
		gzip -f "$RUN_DIR/report.ndjson"
		call report POST /telemetry 60 -H 'Content-Type: application/x-ndjson' -H 'Content-Encoding: gzip' \
			--data-binary "@$RUN_DIR/report.ndjson.gz"
		case $HTTP_STATUS in
		202)
			JOBS_PENDING=$(flatten <"$RUN_DIR/answer.report" | value_of jobsPending)
			rm -f "$batch"
			;;
		400 | 413)
			# It would be refused again and block the others.
			log "discarded a batch: status $HTTP_STATUS"
			rm -f "$batch"
			;;
		*)
			log "not sent: status $HTTP_STATUS"
			return 1
			;;
		esac
	done
}

# Copies the buffer to flash. Only at a stop, because flash wears out. Samples get their times, if these are known: after a
# restart, the time since the start of the router says nothing.
save_buffer() {
	local batch saved
	close_batch
	[ -n "$(oldest_batch)" ] || return 0
	mkdir -p "$SAVED_DIR"
	for batch in "$BUFFER_DIR"/*.gz; do
		saved=$SAVED_DIR/$(basename "$batch")
		if [ -n "$(clock_offset)" ]; then zcat "$batch" | date_samples | gzip -c >"$saved"; else cp "$batch" "$saved"; fi
	done
	sync
}
