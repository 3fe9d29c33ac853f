# Tasks with a config profile, on the nodes of canonical.awk. `root` is the path of the profile in the document.
#   profile   prints the profile without its secrets; exits with 1 if the service does not say which these are
#   options   prints the options of uci that can be compared with the router, one a line
#   settings  prints `same`, or else `changed` and, on a second line, the settings as the router has them. The file `present` has
#             lines `option`, tab, value as `uci show` prints it.

END {
	if (task == "") exit
	profile = at_path(child[0, 1], root)
	settings = member(profile, "settings")
	if (!settings) exit 1
	if (task == "profile") print_profile()
	if (task != "profile") each_option(member(settings, "uci"))
	if (task == "settings") print changed ? "changed\n" canonical(settings) : "same"
}

# Returns the node of a member; 0 if there is none.
function member(node, name,    i) {
	for (i = 1; i <= size[node]; i++) if (name_of[child[node, i]] == quote(name)) return child[node, i]
	return 0
}

function at_path(node, path,    i, count, names) {
	count = split(path, names, ".")
	for (i = 1; i <= count && node; i++) node = member(node, names[i])
	return node
}

function print_profile(    i, secrets, names, name) {
	secrets = member(profile, "secrets")
	if (kind_of[secrets] != "[" || !member(profile, "digest")) exit 1
	for (i = 1; i <= size[secrets]; i++) is_secret[inner(token_of[child[secrets, i]])]
	leave_out(settings, "")
	split("id version digest settings", names, " ")
	for (i = 1; i <= 4; i++) {
		name = quote(names[i]) ":" canonical(member(profile, names[i]))
		printf "%s%s", i == 1 ? "{" : ",", name
	}
	print "}"
}

# Leaves out the secrets below a node. The pointers and the names are both escaped as strings of JSON.
function leave_out(node, pointer,    i, item, step) {
	if (pointer in is_secret) {
		left_out[node]
		return
	}
	for (i = 1; i <= size[node]; i++) {
		item = child[node, i]
		step = kind_of[node] == "[" ? i - 1 : exchanged(exchanged(inner(name_of[item]), "~", "~0"), "/", "~1")
		leave_out(item, pointer "/" step)
	}
}

# Visits the options, and prints or compares them.
function each_option(uci,    i, j, k, section, option) {
	if (task == "settings") read_present()
	for (i = 1; i <= size[uci]; i++)
		for (j = 1; j <= size[child[uci, i]]; j++) {
			section = child[child[uci, i], j]
			for (k = 1; k <= size[section]; k++) {
				option = inner(name_of[child[uci, i]]) "." inner(name_of[section]) "." inner(name_of[child[section, k]])
				if (option !~ /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$/ || option ~ /^routerfleet\./) continue
				if (!is_comparable(child[section, k])) continue
				if (task == "options") print option
				else compare(child[section, k], option)
			}
		}
}

# A list with null has a secret, so it is not read. An object is no value of uci.
function is_comparable(node,    i) {
	if (kind_of[node] == "{") return 0
	for (i = 1; i <= size[node]; i++)
		if (kind_of[child[node, i]] != "" || token_of[child[node, i]] == "null") return 0
	return 1
}

function read_present(    line, at) {
	RS = "\n"
	while ((getline line < present) > 0) {
		at = index(line, "\t")
		shown[substr(line, 1, at - 1)] = substr(line, at + 1)
	}
}

# uci has texts, so a value is the same if its text is. An option that is set to no text is deleted.
function compare(node, option,    i, count, isSame) {
	count = option in shown ? read_items(shown[option]) : 0
	if (kind_of[node] == "[") {
		isSame = count == size[node]
		for (i = 1; i <= count; i++) isSame = isSame && "=" items[i] == "=" text_of(child[node, i])
	} else if (token_of[node] == "null" || token_of[node] == "\"\"") {
		isSame = count == 0
	} else {
		isSame = count == 1 && "=" items[1] == "=" text_of(node)
	}
	if (isSame) return
	changed = 1
	if (count == 0) left_out[node]
	else replaced[node] = tokens_of(count, count > 1 || kind_of[node] == "[")
}

function text_of(node) { return token_of[node] ~ /^"/ ? unescaped(inner(token_of[node])) : token_of[node] }

function tokens_of(count, isList,    i, result) {
	for (i = 1; i <= count; i++) result = result (i > 1 ? "," : "") quote(items[i])
	return isList ? "[" result "]" : result
}

# Reads the values that `uci show` prints, such as 'a' 'it'\''s', into `items`. Returns their number. \001 is a line break.
function read_items(text,    count, at, character, isQuoted) {
	text = exchanged(text, "\001", "\n")
	if (text !~ /^'/) {
		items[1] = text
		return 1
	}
	count = 1
	items[1] = ""
	for (at = 1; at <= length(text); at++) {
		character = substr(text, at, 1)
		if (character == "'") isQuoted = !isQuoted
		else if (character == "\\" && !isQuoted) items[count] = items[count] substr(text, ++at, 1)
		else if (character == " " && !isQuoted) items[++count] = ""
		else items[count] = items[count] character
	}
	return count
}
