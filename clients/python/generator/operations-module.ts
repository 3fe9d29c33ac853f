import { docstring, enclosed, indent, literal, maxColumns, snakeCase } from './layout.ts'
import {
  type Answer,
  type Argument,
  answerOf,
  argumentsOf,
  type Body,
  bodyOf,
  type Choices,
  choiceOf,
  type Document,
  type DocumentOperation,
  itemType,
  longChoices,
  needsKey,
  typeName,
} from './operation.ts'
import type { Schema } from './python-type.ts'

type Mode = 'sync' | 'async'
type Context = { mode: Mode; schemas: Record<string, Schema>; choices: Choices }
type Method = {
  name: string
  arguments: Argument[]
  body: Body | undefined
  /** Each with types of arguments that select it. */
  returns: { type: string; where: Record<string, string> }[]
  /** The method of the base class that sends the request. */
  sendWith: '_json' | '_none' | '_optional' | '_list' | '_download'
  call: string[]
  about: string[]
}

/** Returns the lines of a class with one method for each operation, and a second one for those that also return a file. */
export function operationsModule(document: Document, mode: Mode): string[] {
  const { paths, components } = document
  const choices = new Map(longChoices(document).map(([type, name]) => [type, typeName(name)]))
  const context = { mode, schemas: components.schemas, choices }
  const methods = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([verb, operation]) => methodsOf(verb, path, operation, context)),
  )
  return methods.flatMap((method) => ['', ...indent(printed(method, mode))])
}

function methodsOf(verb: string, path: string, operation: DocumentOperation, context: Context): Method[] {
  const answer = answerOf(operation)
  const isForBrowsers = answer.json.length === 0 && answer.files.length === 0 && !answer.isMaybeEmpty
  if (isForBrowsers) return []
  const name = snakeCase(operation.operationId)
  const downloadName = answer.json.length === 0 ? name : name.replace(/^(get|list)_/, 'download_')
  return [
    ...(answer.files.length > 0 ? [downloadOf(downloadName, verb, path, operation, context)] : []),
    ...(answer.json.length > 0 || answer.files.length === 0 ? [readOf(name, verb, path, operation, context)] : []),
  ]
}

/** Values of `format` for which the response is JSON. */
const jsonFormats: ReadonlySet<string> = new Set(['json', 'geojson'])

function downloadOf(name: string, verb: string, path: string, operation: DocumentOperation, context: Context): Method {
  const { json } = answerOf(operation)
  // With a JSON form, the format selects the file. A file has no pages of its own.
  const adapted = argumentsOf(operation, context.choices).map((argument) =>
    json.length > 0 && argument.name === 'format'
      ? {
          ...argument,
          type: choiceOf(choicesIn(argument.type).filter((value) => !jsonFormats.has(value))),
          isRequired: true,
        }
      : argument,
  )
  const type = context.mode === 'sync' ? 'Download' : 'AsyncDownload'
  const method = methodOf(name, verb, path, operation, context, adapted)
  return { ...method, returns: [{ type, where: {} }], sendWith: '_download' }
}

function readOf(name: string, verb: string, path: string, operation: DocumentOperation, context: Context): Method {
  const answer = answerOf(operation)
  const item = itemType(operation, context.schemas)
  const isFormatKnown = answer.files.length > 0
  const args = argumentsOf(operation, context.choices).filter(
    (argument) => !(isFormatKnown && argument.name === 'format'),
  )
  const method = methodOf(name, verb, path, operation, context, args)
  const [first] = answer.json
  if (item && first) {
    const type = `${context.mode === 'sync' ? 'Listing' : 'AsyncListing'}[${item}, ${first.type}]`
    return { ...method, returns: [{ type, where: {} }], sendWith: '_list' }
  }
  const isOptional = answer.isMaybeEmpty || answer.isMaybeUnchanged
  const sendWith = !first || first.type === 'None' ? '_none' : isOptional ? '_optional' : '_json'
  return { ...method, returns: returnsOf(answer, args), sendWith }
}

/** The types that a method returns. The arguments `dry_run`, `format` and `if_none_match` select one. */
function returnsOf({ json, isMaybeEmpty, isMaybeUnchanged }: Answer, args: readonly Argument[]): Method['returns'] {
  const byFormat = json.map(({ type, format }, index) => {
    const other = args.find(({ name }) => name === (format ? 'format' : 'dry_run'))
    const formats = choicesIn(args.find(({ name }) => name === 'format')?.type ?? '')
    if (json.length === 1 || !other) {
      const rest = formats.filter((value) => value !== 'geojson')
      return { type, where: json.length > 1 ? { format: `${choiceOf(rest)} | None` } : {} }
    }
    if (format) return { type, where: { format: choiceOf([format]) } }
    return { type, where: { dry_run: index === 0 ? 'Literal[True]' : 'Literal[False] | None' } }
  })
  if (byFormat.length === 0) return [{ type: 'None', where: {} }]
  const emptied = byFormat.map(({ type, where }) => ({ type: isMaybeEmpty ? `${type} | None` : type, where }))
  if (!isMaybeUnchanged || isMaybeEmpty) return emptied
  return emptied.flatMap(({ type, where }) => [
    { type, where: { ...where, if_none_match: 'None' } },
    { type: `${type} | None`, where: { ...where, if_none_match: 'str' } },
  ])
}

const choicesIn = (type: string): string[] => [...type.matchAll(/"([^"]+)"/g)].map(([, value = '']) => value)

function methodOf(
  name: string,
  verb: string,
  path: string,
  operation: DocumentOperation,
  { schemas }: Context,
  args: Argument[],
): Omit<Method, 'returns' | 'sendWith'> {
  const body = bodyOf(operation, schemas)
  return {
    name,
    arguments: args,
    body,
    call: callOf(verb, path, operation, args, body),
    about: [
      operation.summary ?? '',
      operation.description ?? '',
      ['Args:', ...args.filter(({ description }) => description).map((argument) => aboutArgument(argument))].join('\n'),
    ].filter((paragraph) => paragraph !== 'Args:'),
  }
}

const aboutArgument = ({ name, description }: Argument): string => `    ${name}: ${description.replaceAll('\n', ' ')}`

/** The arguments of `Call`, which describes the request. */
function callOf(
  verb: string,
  path: string,
  operation: DocumentOperation,
  args: readonly Argument[],
  body: Body | undefined,
): string[] {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => `{segment(${snakeCase(name)})}`)
  const members = (place: Argument['place']) =>
    args.filter((argument) => argument.place === place).map(({ name, sentAs }) => `${literal(sentAs)}: ${name}`)
  const dict = (name: string, place: Argument['place']) =>
    members(place).length > 0 ? [enclosed(`${name}={`, members(place), '}', maxColumns - 20).join('\n')] : []
  return [
    literal(verb.toUpperCase()),
    (filled === path ? '' : 'f') + literal(filled),
    ...dict('query', 'query'),
    ...dict('headers', 'header'),
    ...(body ? [`${body.kind}=body`] : []),
    ...(body?.kind === 'content' ? [`content_type=${contentTypeOf(body)}`] : []),
    ...(needsKey(operation) ? [] : ['needs_key=False']),
  ]
}

const contentTypeOf = ({ contentTypes }: Body): string =>
  contentTypes.length === 1 ? literal(contentTypes[0] ?? '') : 'content_type'

function printed(method: Method, mode: Mode): string[] {
  const { returns, call, sendWith } = method
  const isLazy = sendWith === '_list' || sendWith === '_download'
  const def = mode === 'async' && !isLazy ? 'async def' : 'def'
  const [onlyType] = returns
  const send = mode === 'async' && !isLazy ? 'await ' : ''
  const isOverloaded = returns.length > 1
  const overloads = isOverloaded
    ? returns.flatMap((one) => ['@overload', ...signature(def, method, one.type, one.where, ': ...')])
    : []
  const type = isOverloaded ? 'Any' : (onlyType?.type ?? 'None')
  const isReturned = isOverloaded || isLazy
  const start = isReturned ? 'return ' : type === 'None' ? '' : `answer: ${type} = `
  const statements = [
    ...enclosed(`${start}${send}self.${sendWith}(Call(`, call, '))', maxColumns - 8),
    ...(isReturned || type === 'None' ? [] : ['return answer']),
  ]
  return [
    ...overloads,
    ...signature(def, method, type, {}, ':'),
    ...indent([...docstring(method.about), ...statements]),
  ]
}

/** The head of a method. Types in `where` replace those of the arguments; those without `None` are required. */
function signature(def: string, method: Method, type: string, where: Record<string, string>, end: string): string[] {
  const { arguments: args, body, name } = method
  const isPositional = ({ place }: Argument) => place === 'path'
  const positional = args.filter(isPositional).map((argument) => `${argument.name}: ${argument.type}`)
  const bodyArgument = body ? [`body: ${body.type}${body.isRequired ? '' : ' | None = None'}`] : []
  const contentType = body && body.contentTypes.length > 1 ? [`content_type: ${choiceOf(body.contentTypes)}`] : []
  const named = args
    .filter((argument) => !isPositional(argument))
    .map((argument) => {
      const selected = where[argument.name]
      if (selected) return `${argument.name}: ${selected}${/\bNone$/.test(selected) ? ' = None' : ''}`
      return argument.isRequired
        ? `${argument.name}: ${argument.type}`
        : `${argument.name}: ${argument.type} | None = None`
    })
  const keywords = [...contentType, ...named]
  const all = ['self', ...positional, ...bodyArgument, ...(keywords.length > 0 ? ['*', ...keywords] : [])]
  return enclosed(`${def} ${name}(`, all, `) -> ${type}${end}`, maxColumns - 4)
}
