import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { OpenwrtRouter } from './openwrt-router.ts'

/** Reads a package in the format of uci, and changes or prints a part of it. Values keep their quotes. */
const partProgram = String.raw`
BEGIN {
	command = ENVIRON["COMMAND"]; section = ENVIRON["SECTION"]; option = ENVIRON["OPTION"]; value = ENVIRON["VALUE"]
	gsub(/'/, "'\\''", value)
	quoted = "'" value "'"
}
$1 == "config" {
	current = $3
	gsub(/'/, "", current)
	sections[++count] = current
	type[current] = $2
	next
}
$1 == "option" || $1 == "list" {
	line = $0
	sub(/^[ \t]*(option|list) [^ ]+ /, "", line)
	add($1, current, $2, line)
}
END {
	known = section in type && (option == "" || (section, option) in values)
	if (command == "get" || command == "show") {
		if (!known) exit 1
		shown = option == "" ? type[section] : values[section, option]
		if (command == "get") gsub(/'/, "", shown)
		print command == "show" ? ENVIRON["NAME"] "=" shown : shown
		exit 0
	}
	if (option != "" && !(section in type)) exit 1
	# As in uci, no text deletes an option.
	if (command == "set" && option != "" && value == "") command = known ? "delete" : "keep"
	if (command == "delete" && !known) exit 1
	if (command == "delete" && option == "") delete type[section]
	else if (command == "delete") delete values[section, option]
	else if (command == "set" && option == "") { if (!(section in type)) sections[++count] = section; type[section] = value }
	else if (command != "keep") { if (command == "set") delete values[section, option]; add(command == "set" ? "option" : "list", section, option, quoted) }
	for (i = 1; i <= count; i++) if (sections[i] in type) print_section(sections[i])
}
function add(kind, in_section, name, item) {
	if ((in_section, name) in values) { values[in_section, name] = values[in_section, name] " " item; items[in_section, name] = items[in_section, name] "\n" item }
	else { values[in_section, name] = item; items[in_section, name] = item }
	if (!((in_section, name) in kinds)) names[in_section] = names[in_section] " " name
	kinds[in_section, name] = kind
}
function print_section(of,    i, j, n, m, list, each) {
	print "config " type[of] " '" of "'"
	n = split(names[of], list, " ")
	for (i = 1; i <= n; i++) if ((of, list[i]) in values) {
		m = split(items[of, list[i]], each, "\n")
		for (j = 1; j <= m; j++) print "\t" kinds[of, list[i]] " " list[i] " " each[j]
	}
}
`

/** As uci does, keeps changes apart until they are committed or reverted. */
const program = `
[ "$1" = -q ] && shift
COMMAND=$1 NAME=\${2%%=*} VALUE=\${2#*=}
package=\${NAME%%.*} rest=\${NAME#"\${NAME%%.*}"}
rest=\${rest#.} SECTION=\${rest%%.*} OPTION=
case $rest in *.*) OPTION=\${rest#*.} ;; esac
file=$ROUTER/config/$package changed=$ROUTER/uci-changes/$package
mkdir -p "$ROUTER/uci-changes"
[ "$COMMAND" = get ] || [ "$COMMAND" = show ] || echo "$*" >> "$ROUTER/calls"
[ "$COMMAND" = get ] || [ "$COMMAND" = show ] && echo "$NAME" >> "$ROUTER/uci-reads"
if [ "$COMMAND" = import ]; then cat > "$file.new" && mv "$file.new" "$file"; exit; fi
[ -e "$file" ] || exit 1
read=$file
[ ! -e "$changed" ] || read=$changed
export COMMAND NAME VALUE SECTION OPTION
case $COMMAND in
commit) [ ! -e "$changed" ] || mv "$changed" "$file" ;;
revert) rm -f "$changed" ;;
export) cat "$read" ;;
get | show) awk -f "$ROUTER/uci.awk" "$read" ;;
set | add_list | delete) awk -f "$ROUTER/uci.awk" "$read" > "$changed.new" && mv "$changed.new" "$changed" || { rm -f "$changed.new"; exit 1; } ;;
*) exit 255 ;;
esac
`

export type RouterUci = {
  /** The environment of the agent. */
  environment: { UCI_DIR: string }
  /** Returns the committed text of a package. */
  read(name: string): string
  /** Runs commands of uci, one a line, as somebody on the router. */
  change(...commands: string[]): void
  /** The names that were read with `get` and `show`. */
  reads(): string[]
}

/** Installs a `uci` that keeps files, with these packages. */
export function installUci(router: OpenwrtRouter, packages: Record<string, string>): RouterUci {
  const folder = join(router.folder, 'config')
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(packages)) writeFileSync(join(folder, name), text)
  writeFileSync(join(router.folder, 'uci.awk'), partProgram)
  router.command('uci', program)
  return {
    environment: { UCI_DIR: folder },
    read: (name) => readFileSync(join(folder, name), 'utf8'),
    change: (...commands) => {
      router.run(commands.map((command) => `uci ${command}`).join(' && '))
    },
    reads: () => (existsSync(join(router.folder, 'uci-reads')) ? router.lines('uci-reads') : []),
  }
}
