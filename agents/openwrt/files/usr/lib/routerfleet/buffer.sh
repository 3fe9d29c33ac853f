# The samples that the service has not accepted yet: compressed batches in memory, oldest first, within a limit.

BUFFER_DIR=$RUN_DIR/buffer
SAVED_DIR=$STATE_DIR/buffer
OPEN_BATCH=$BUFFER_DIR/open.ndjson
# About an hour of samples, and a third of what a report may have.
BATCH_LINES=300

# Returns batches that were saved before a restart, and starts.
open_buffer() {
	mkdir -p "$BUFFER_DIR"
	[ -d "$SAVED_DIR" ] && cp "$SAVED_DIR"/*.gz "$BUFFER_DIR/" 2>/dev/null && rm -rf "$SAVED_DIR"
	return 0
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

# The name of a batch sorts by age.
compress_batch() {
	[ -s "$OPEN_BATCH" ] || return 0
	local sequence
	sequence=$(($(cat "$BUFFER_DIR/sequence" 2>/dev/null || echo 0) + 1))
	echo "$sequence" >"$BUFFER_DIR/sequence"
	gzip -c "$OPEN_BATCH" >"$BUFFER_DIR/batch.new" &&
		mv "$BUFFER_DIR/batch.new" "$BUFFER_DIR/$(date +%s)-$(printf '%06d' "$sequence").gz" && rm -f "$OPEN_BATCH"
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
	while batch=$(oldest_batch) && [ -n "$batch" ]; do
		call report POST /telemetry 60 -H 'Content-Type: application/x-ndjson' -H 'Content-Encoding: gzip' --data-binary "@$batch"
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

# Copies the buffer to flash. Only at a stop, because flash wears out.
save_buffer() {
	close_batch
	[ -n "$(oldest_batch)" ] || return 0
	mkdir -p "$SAVED_DIR" && cp "$BUFFER_DIR"/*.gz "$SAVED_DIR/" && sync
}
