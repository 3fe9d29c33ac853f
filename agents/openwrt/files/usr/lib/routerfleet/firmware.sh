# Installs firmware with sysupgrade, after size, checksum, signature and the check of sysupgrade itself.

run_firmware() {
	local version url sha256 size image signature
	parameter() { printf '%s\n' "$JOB" | value_of "parameters.$1"; }
	JOB=$1
	version=$(parameter version) url=$(parameter url) sha256=$(parameter sha256) size=$(parameter sizeBytes)
	image=$RUN_DIR/firmware.bin signature=$RUN_DIR/firmware.bin.sig
	refuse() {
		rm -f "$image" "$signature"
		finish failed "$1"
	}
	if [ "$(release)" = "$version" ]; then
		finish succeeded "Version $version already runs."
		return
	fi
	case $url in
	https://*) ;;
	*)
		refuse 'The address must be https.'
		return
		;;
	esac
	download "$url" "$image" "${size:-67108864}" || {
		refuse 'The firmware could not be downloaded.'
		return
	}
	report_status inProgress '' 50
	if [ -n "$size" ] && [ "$(wc -c <"$image")" -ne "$size" ]; then
		refuse 'The firmware has another size.'
		return
	fi
	if [ "$(sha256sum "$image" | cut -d' ' -f1)" != "$(printf '%s' "$sha256" | tr A-F a-f)" ]; then
		refuse 'The checksum of the firmware is wrong.'
		return
	fi
	if ! download "$url.sig" "$signature" 4096 || ! usign -V -q -m "$image" -x "$signature" -P "$FIRMWARE_KEYS"; then
		refuse 'The firmware has no valid signature.'
		return
	fi
	if ! limited 60 sysupgrade -T "$image" >/dev/null 2>&1; then
		refuse 'sysupgrade refuses the firmware for this router.'
		return
	fi
	report_status inProgress '' 90
	if [ "$CANCELLED" = true ]; then
		rm -f "$image" "$signature"
		finish rejected 'Cancelled.'
		return
	fi
	record installing "$version"
	save_buffer
	sync
	sysupgrade "$image" || refuse 'sysupgrade failed.'
	[ "$PHASE" = reported ] || sleep "${REBOOT_WAIT:-120}"
}

# Downloads at most some bytes. Memory holds the file, so a larger one must not be read.
download() {
	curl -sS -f -o "$2" --max-filesize "$3" --connect-timeout 10 --max-time 1800 --speed-time 60 --speed-limit 100 "$1" 2>/dev/null
}
