# Installs firmware with sysupgrade, after size, checksum, signature and the check of sysupgrade itself.

run_firmware() {
	local version url sha256 size image signature room most
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
	case $size in
	null) size= ;;
	*[!0-9]* | ???????????*)
		refuse "sizeBytes must be a number of bytes, got $size."
		return
		;;
	esac
	# What an interrupted update has left takes memory.
	rm -f "$image" "$signature"
	room=$(room_for_firmware)
	if [ -n "$size" ] && [ "$size" -gt "${room:-$size}" ]; then
		refuse "The firmware has $size bytes, and the memory has room for $room."
		return
	fi
	most=${size:-67108864}
	[ "$most" -le "${room:-$most}" ] || most=$room
	download "$url" "$image" "$most"
	case $? in
	0) ;;
	# Of curl, and of a process that writes more than it may.
	23 | 63 | 153)
		refuse "The firmware has another size: it is larger than $most bytes."
		return
		;;
	*)
		refuse 'The firmware could not be downloaded.'
		return
		;;
	esac
	go_on 50 || {
		rm -f "$image" "$signature"
		return
	}
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
	go_on 90 || {
		rm -f "$image" "$signature"
		return
	}
	if ! record installing "$version"; then
		refuse 'The state of the update could not be stored.'
		return
	fi
	save_buffer
	sync
	sysupgrade "$image" || refuse 'sysupgrade failed.'
	[ "$PHASE" = reported ] || sleep "${REBOOT_WAIT:-120}"
}

# Prints how many bytes of firmware fit into the file system of the file and into memory; nothing if both are unknown.
room_for_firmware() {
	{
		df -k "$RUN_DIR" | awk 'END { print $(NF - 2) }'
		awk '$1 == "MemAvailable:" { print $2 }' "$PROC/meminfo"
	} 2>/dev/null | awk -v reserved=4096 '
		/^[0-9]+$/ && (least == "" || $1 + 0 < least) { least = $1 + 0 }
		END { if (least != "") printf "%.0f", (least > reserved ? least - reserved : 0) * 1024 }'
}

# Downloads at most some bytes. Memory holds the file, so a larger one must not be read. curl knows the size only if the server
# says it, so the system enforces the limit as well, in blocks of 512 bytes. Brackets and braces in the address are plain text.
download() {
	(
		ulimit -f $((($3 + 511) / 512))
		exec curl -sS -f -g -o "$2" --proto =https --max-filesize "$3" --connect-timeout 10 --max-time 1800 \
			--speed-time 60 --speed-limit 100 "$1" 2>/dev/null
	)
}
