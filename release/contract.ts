import type { OpenApiDocument } from '../apps/control-plane/http/openapi.ts'

/** Where the repository keeps the document of the last release. */
export const keptFile = 'docs/contract/openapi.json'

/** What programs that call the API do not depend on. */
const prose = new Set([
  'description',
  'summary',
  'example',
  'examples',
  'title',
  'contact',
  'tags',
  'servers',
  'license',
])

/** Objects whose keys are names of the contract, such as a property with the name `description`. */
const named = new Set([
  'properties',
  'paths',
  'schemas',
  'responses',
  'content',
  'headers',
  'securitySchemes',
  'webhooks',
])

/**
 * The document as it is kept for comparison: without prose and examples, and with one line for each operation and schema, in
 * the order of the alphabet, so that a diff shows what a release changed.
 */
export function keptForm({ openapi, info, paths, components, ...rest }: OpenApiDocument): string {
  const { webhooks = {} } = rest as { webhooks?: Record<string, Record<string, unknown>> }
  const operations = (items: Record<string, Record<string, unknown>>) =>
    lines(items, (item) => lines(item, (operation) => JSON.stringify(withoutProse(operation)), '      '), '    ')
  const { schemas, ...others } = components
  const members = [
    `"openapi": ${JSON.stringify(openapi)}`,
    `"info": ${JSON.stringify({ title: info.title, version: info.version })}`,
    `"paths": ${operations(paths)}`,
    ...(Object.keys(webhooks).length > 0 ? [`"webhooks": ${operations(webhooks)}`] : []),
    `"components": ${lines({ ...others, schemas }, (part) => lines(part as object, (item) => JSON.stringify(withoutProse(item)), '      '), '    ')}`,
  ]
  return `{\n  ${members.join(',\n  ')}\n}\n`
}

/** A JSON object with one line for each member, sorted by name. */
function lines<Value>(
  object: Record<string, Value> | object,
  textOf: (value: Value) => string,
  indent: string,
): string {
  const entries = Object.entries(object as Record<string, Value>).sort(([one], [other]) => (one < other ? -1 : 1))
  const texts = entries.map(([name, value]) => `${indent}${JSON.stringify(name)}: ${textOf(value)}`)
  return `{\n${texts.join(',\n')}\n${indent.slice(2)}}`
}

function withoutProse(value: unknown, isNamed = false): unknown {
  if (Array.isArray(value)) return value.map((item) => withoutProse(item))
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).filter(([key]) => isNamed || !prose.has(key))
  return Object.fromEntries(members.map(([key, inner]) => [key, withoutProse(inner, !isNamed && named.has(key))]))
}
