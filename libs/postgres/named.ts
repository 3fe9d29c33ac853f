/** Parts of a statement in which a `$` is no parameter, and parameters. A name follows only what cannot be part of a name. */
const token =
  /[eE]'(?:[^'\\]|\\.|'')*'|'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|\/\*.*?\*\/|(?<![\w$])\$((?!\d)\w+)?\$.*?\$\1\$|(?<![\w$])\$(\w+)/gs

type Translation = { text: string; names: readonly string[] }

/** By text. Texts are few, because they contain no values. */
const translations = new Map<string, Translation>()
const maxTranslations = 5_000

/**
 * Returns a query for node-postgres from a statement with named parameters, for example
 * `WHERE organization_id = $organizationId AND id = ANY ($ids::uuid[])`. A value that is undefined is NULL. Throws TypeError for
 * a parameter without a value, and for a value without a parameter.
 */
export function named(
  statement: string,
  values: Readonly<Record<string, unknown>>,
): { text: string; values: unknown[] } {
  const { text, names } = translationOf(statement)
  const missing = names.filter((name) => !Object.hasOwn(values, name))
  const unused = Object.keys(values).filter((name) => !names.includes(name))
  if (missing.length > 0) throw new TypeError(`The statement has parameters without a value: ${missing.join(', ')}.`)
  if (unused.length > 0) throw new TypeError(`The statement has no parameters for the values: ${unused.join(', ')}.`)
  return { text, values: names.map((name) => values[name]) }
}

function translationOf(statement: string): Translation {
  const known = translations.get(statement)
  if (known) return known
  const names: string[] = []
  const text = statement.replaceAll(token, (found: string, _tag: string | undefined, name: string | undefined) => {
    if (name === undefined) return found
    if (!names.includes(name)) names.push(name)
    return `$${names.indexOf(name) + 1}`
  })
  if (translations.size >= maxTranslations) translations.clear()
  const translation = { text, names }
  translations.set(statement, translation)
  return translation
}
