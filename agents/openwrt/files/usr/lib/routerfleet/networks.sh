# The networks of modems and SIMs. Lengths of network codes are those of the npm package mcc-mnc-list.

# Prints the network of a country code and a network code, which uqmi prints as numbers. Network codes have two digits, or three
# if the number needs them.
plmn_of() {
	local mnc=$2
	[ -n "$1" ] && [ -n "$mnc" ] || return 0
	case $1$mnc in *[!0-9]*) return 0 ;; esac
	case $mnc in
	??? | 0?) ;;
	*) if has_three_digits "$1" "$mnc"; then mnc=$(printf '%03d' "$mnc"); else mnc=$(printf '%02d' "$mnc"); fi ;;
	esac
	printf '%s%s' "$1" "$mnc"
}

# Whether a network code below 100 has three digits: by country, the networks of the npm package mcc-mnc-list.
has_three_digits() {
	awk -v mcc="$1" -v mnc="$2" '$1 == mcc { for (i = 2; i <= NF; i++) if ($i == mnc) found = 1 } END { exit !found }' <<-EOF
		310 4 5 6 10 12 13 14 15 16 17 20 30 32 33 34 35 40 50 53 54 60 66 70 80 90
		311 0 10 12 20 30 40 50 60 70 80 90
		312 10 20 30 40 50 60 70 80 90
		313 0 10 20 30 40 50 60 61 70 80 90
		314 10 20 30 60 70 80 90
		315 10
		316 10 11
		330 0
		334 1 10 20 30 40 50 60 66 70 80 90
		338 20 40 50 70 80
		344 30 50
		346 1 50
		350 7
		352 30
		356 50 70
		360 50
		365 10
		366 20
		405 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39 41 42 43 44 45 46 47
		708 1 2 30 40
		714 20
		722 10 20 34 40 70
		732 1 2 3 4 20 99
		738 2 3 40
		750 1
	EOF
}

# Prints the network that issued a SIM, by its IMSI; nothing if there is none. Countries and networks as in the npm package
# mcc-mnc-list: a network code has two digits, or three in these countries, or the length of its network.
plmn_of_imsi() {
	case $1 in *[!0-9]*) return ;; esac
	[ ${#1} -eq 14 ] || [ ${#1} -eq 15 ] || return 0
	awk -v imsi="$1" '
		BEGIN {
			digits = index(" 302 311 312 313 314 315 316 330 334 342 344 346 348 352 354 356 358 360 365 366 376 708 722 732 750 ",
				" " substr(imsi, 1, 3) " ") ? 3 : 2
		}
		$1 == substr(imsi, 1, 3) {
			digits = $2
			for (i = 3; i <= NF; i++) if ($i == substr(imsi, 4, length($i)) && length($i) != $2) digits = length($i)
			for (i = 3; i <= NF; i++) if ($i == substr(imsi, 4, length($i)) && length($i) == $2) digits = $2
		}
		END { print substr(imsi, 1, 3 + digits) }' <<-EOF
		001 2 001
		208 2 500 502 504 700 701 702 703 704 705 706 707 708 709 710 711 712 713 714
		214 2 700 701
		250 2 811
		255 2 701
		310 3 59 590 591 592 593 594 595 596 597 598 599
		338 3 05 050
		374 2 140
		405 3 01 03 04 05 06 07 08 09 10 11 12 13 14 15 17 18 19 20 21 22 23 51 52 53 54 55 56 66 67 70 030 031 032 033 034 035 036 037 038 039 041 042 043 044 045 046 047
		441 3 00 01 10 91
		467 2 193
		502 2 150 151 152 153 154 155 156 157
		710 2 300
		738 2 040
	EOF
}
