# Prints each value of a JSON document as a line: its path, a tab and the value. Members and indexes are joined by dots.
# Strings are printed without quotes; a control character in them as \001. An empty list has the value \002. Exits with 1 if the
# text is not JSON.

{ text = text $0 "\n" }

END {
	at = 1
	length_of_text = length(text)
	skip()
	value("")
	skip()
	if (at <= length_of_text) fail()
}

function fail() { failed = 1; exit 1 }
function skip() { while (at <= length_of_text && index(" \t\r\n", substr(text, at, 1)) > 0) at++ }
function next_is(character) { return substr(text, at, 1) == character }
function expect(character) { if (!next_is(character)) fail(); at++; skip() }
function joined(path, name) { return path == "" ? name : path "." name }

function value(path,    start, name, position, first) {
	if (failed) exit 1
	if (++depth > 32) fail()
	first = substr(text, at, 1)
	if (first == "{") {
		expect("{")
		while (!next_is("}")) {
			name = string()
			skip()
			expect(":")
			value(joined(path, name))
			if (!next_is(",")) break
			expect(",")
		}
		expect("}")
	} else if (first == "[") {
		expect("[")
		position = 0
		while (!next_is("]")) {
			value(joined(path, position++))
			if (!next_is(",")) break
			expect(",")
		}
		if (position == 0) print path "\t\002"
		expect("]")
	} else if (first == "\"") {
		print path "\t" string()
		skip()
	} else {
		start = at
		while (at <= length_of_text && index(",]} \t\r\n", substr(text, at, 1)) == 0) at++
		name = substr(text, start, at - start)
		if (name !~ /^(true|false|null|-?[0-9][0-9.eE+-]*)$/) fail()
		print path "\t" name
		skip()
	}
	depth--
}

function string(    result, character, start) {
	if (!next_is("\"")) fail()
	at++
	result = ""
	for (;;) {
		start = at
		while (at <= length_of_text && (character = substr(text, at, 1)) != "\"" && character != "\\") at++
		if (at > length_of_text) fail()
		result = result substr(text, start, at - start)
		at++
		if (character == "\"") break
		character = substr(text, at, 1)
		at++
		# The service escapes control characters only.
		if (character == "u") at += 4
		result = result (index("untrbf", character) > 0 ? "\001" : character)
	}
	return result
}
