# Reads a JSON document into nodes, and prints them as canonical JSON (RFC 8785): names sorted, no white space, and strings
# escaped as JSON.stringify does. Numbers stay as the service sends them, which is the canonical form already. The document
# must be valid: flatten.awk checks it. Without `task`, prints the document; profile.awk has the tasks.
#
# Node 0 holds the document. A node has a kind ("{", "[" or "" for a value), a token (a value), a size and children, and in an
# object a name. Names and strings are tokens with quotes.

BEGIN {
	RS = "\""
	for (code = 1; code < 32; code++) control[sprintf("%c", code)] = sprintf("\\u%04x", code)
	control["\b"] = "\\b"; control["\t"] = "\\t"; control["\n"] = "\\n"; control["\f"] = "\\f"; control["\r"] = "\\r"
}

# Strings and what is between them take turns. A quote after an odd number of backslashes belongs to the string.
isString {
	text = text $0
	if (match($0, /\\+$/) && RLENGTH % 2 == 1) {
		text = text "\""
		next
	}
	add("", quote(unescaped(text)))
	text = ""
	isString = 0
	next
}

{
	scan($0)
	isString = 1
}

END { if (task == "") print canonical(child[0, 1]) }

function scan(rest,    first) {
	while (match(rest, /[^ \t\r\n,:]/)) {
		rest = substr(rest, RSTART)
		first = substr(rest, 1, 1)
		if (first == "{" || first == "[") {
			add(first, "")
			opened[++depth] = nodes
		} else if (first == "}" || first == "]") {
			depth--
		} else {
			match(rest, /^[^] \t\r\n,}]+/)
			add("", substr(rest, 1, RLENGTH))
			rest = substr(rest, RLENGTH)
		}
		rest = substr(rest, 2)
	}
}

function add(kind, token,    parent) {
	parent = depth > 0 ? opened[depth] : 0
	if (kind_of[parent] == "{" && name == "") {
		name = token
		return
	}
	nodes++
	kind_of[nodes] = kind
	token_of[nodes] = token
	name_of[nodes] = name
	name = ""
	child[parent, ++size[parent]] = nodes
}

# A node that is left out is missing in an object and null in a list.
function canonical(node,    i, item, result) {
	if (node in left_out) return "null"
	if (node in replaced) return replaced[node]
	if (kind_of[node] == "") return token_of[node]
	if (kind_of[node] == "{") sort(node)
	for (i = 1; i <= size[node]; i++) {
		item = child[node, i]
		if (kind_of[node] == "[") result = result "," canonical(item)
		else if (!(item in left_out)) result = result "," name_of[item] ":" canonical(item)
	}
	return kind_of[node] substr(result, 2) (kind_of[node] == "{" ? "}" : "]")
}

function sort(node,    i, at, moving) {
	for (i = 1; i <= size[node]; i++) {
		moving = child[node, i]
		order[moving] = order_of(unescaped(inner(name_of[moving])))
		for (at = i; at > 1 && order[child[node, at - 1]] > order[moving]; at--) child[node, at] = child[node, at - 1]
		child[node, at] = moving
	}
}

# The text between the quotes of a token.
function inner(token) { return substr(token, 2, length(token) - 2) }

# Names are sorted by UTF-16, in which the characters of four bytes of UTF-8 come before U+E000: before the bytes EE and EF.
function order_of(text) { return "=" exchanged(exchanged(text, "\356", "\370"), "\357", "\371") }

function exchanged(text, old, new,    at, result) {
	while ((at = index(text, old)) > 0) {
		result = result substr(text, 1, at - 1) new
		text = substr(text, at + length(old))
	}
	return result text
}

function unescaped(text,    at, result, character, code) {
	while ((at = index(text, "\\")) > 0) {
		result = result substr(text, 1, at - 1)
		character = substr(text, at + 1, 1)
		text = substr(text, at + 2)
		if (character == "u") {
			code = hex(substr(text, 1, 4))
			text = substr(text, 5)
			if (code >= 55296 && code < 56320 && substr(text, 1, 2) == "\\u") {
				code = 65536 + (code - 55296) * 1024 + hex(substr(text, 3, 4)) - 56320
				text = substr(text, 7)
			}
			character = utf8(code)
		} else if ((at = index("btnfr", character)) > 0) {
			character = substr("\b\t\n\f\r", at, 1)
		}
		result = result character
	}
	return result text
}

function hex(digits,    i, number) {
	for (i = 1; i <= 4; i++) number = number * 16 + index("0123456789abcdef", tolower(substr(digits, i, 1))) - 1
	return number
}

function utf8(code) {
	if (code < 128) return sprintf("%c", code)
	if (code < 2048) return sprintf("%c%c", 192 + int(code / 64), 128 + code % 64)
	if (code < 65536) return sprintf("%c%c%c", 224 + int(code / 4096), 128 + int(code / 64) % 64, 128 + code % 64)
	return sprintf("%c%c%c%c", 240 + int(code / 262144), 128 + int(code / 4096) % 64, 128 + int(code / 64) % 64, 128 + code % 64)
}

# Returns text as a string of JSON.
function quote(text,    result, character) {
	while (match(text, /["\\\001-\037]/)) {
		character = substr(text, RSTART, 1)
		result = result substr(text, 1, RSTART - 1) (character in control ? control[character] : "\\" character)
		text = substr(text, RSTART + 1)
	}
	return "\"" result text "\""
}
