import { docstring, enclosed, indent, literal, maxColumns, wrapped } from './layout.ts'
import { type Document, longChoices } from './operation.ts'
import { pythonType, type Schema } from './python-type.ts'

/** Returns the lines of a module with one type for each named schema and each long list of choices of a parameter. */
export function typesModule(document: Document): string[] {
  const choices = longChoices(document).map(([type, name]) => [
    ...enclosed(`${name}: TypeAlias = Literal[`, type.slice('Literal['.length, -1).split(', '), ']'),
  ])
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => declaration(name, schema))
  return [...schemas, ...choices].flatMap((lines) => ['', '', ...lines])
}

function declaration(name: string, schema: Schema): string[] {
  const { properties = {}, description = '' } = schema
  const names = Object.keys(properties)
  if (names.length === 0) return alias(name, schema)
  if (!names.every(isName)) return functional(name, schema)
  const fields = Object.entries(properties).flatMap(([field, value]) => [
    ...brokenAtChoices(`${field}: ${fieldType(field, value, schema)}`),
    ...docstring([value.description ?? ''], maxColumns - 8),
  ])
  const about = docstring([description], maxColumns - 8)
  return [`class ${name}(TypedDict):`, ...indent([...about, ...(about.length > 0 ? [''] : []), ...fields])]
}

/** Returns a TypedDict that has members whose names are no names in Python. */
function functional(name: string, schema: Schema): string[] {
  const fields = Object.entries(schema.properties ?? {}).map(
    ([field, value]) => `${literal(field)}: ${fieldType(field, value, schema)},`,
  )
  return [
    ...comment(schema.description),
    `${name} = TypedDict(`,
    ...indent([`${literal(name)},`, '{', ...indent(fields), '},']),
    ')',
  ]
}

function alias(name: string, schema: Schema): string[] {
  const parts = schema.enum ? schema.enum.map(literal) : pythonType(schema, String).split(' | ')
  const lines = schema.enum
    ? enclosed(`${name}: TypeAlias = Literal[`, parts, ']')
    : // A string, because the types can be below.
      [`${name}: TypeAlias = (`, ...indent(stringOf(parts)), ')']
  return [...comment(schema.description), ...lines]
}

/** Returns a string literal with a part in each line. */
const stringOf = (parts: readonly string[]): string[] =>
  parts.length === 1
    ? parts.map(quoted)
    : parts.map((part, index) => quoted(index === parts.length - 1 ? part : `${part} | `))

const comment = (description = ''): string[] =>
  description === '' ? [] : wrapped(description, maxColumns - 2).map((line) => `# ${line}`.trimEnd())

/** Breaks a long line at the choices in it. */
function brokenAtChoices(line: string): string[] {
  const [, start, choices, end] = /^(.*?Literal\[)("[^\]]*")(\].*)$/.exec(line) ?? []
  if (line.length <= maxColumns - 4 || !start || !choices || !end) return [line]
  return enclosed(start, choices.split(', '), end)
}

function fieldType(field: string, schema: Schema, parent: Schema): string {
  const type = pythonType(schema, String)
  const refersToOther = pythonType(schema, (name) => `${name}?`) !== type
  const inner = refersToOther ? quoted(type) : type
  return parent.required?.includes(field) ? inner : `NotRequired[${inner}]`
}

/** A string, because the type can be below. A type has no escapes, but choices in double quotes. */
const quoted = (type: string): string => (type.includes('"') ? `'${type}'` : `"${type}"`)

const isName = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && name !== 'from'
