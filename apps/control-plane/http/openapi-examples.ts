type Json = Record<string, unknown>

const formats: Record<string, unknown> = {
  uuid: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f',
  'date-time': '2026-05-04T12:30:00.000Z',
  uri: 'https://example.com/hook',
}

const maxDepth = 6

/** An example value for a JSON Schema, for operations of routes without an example. */
export function exampleOf(schema: Json, components: Json, depth = 0): unknown {
  const {
    $ref,
    type,
    anyOf,
    enum: words,
    format,
  } = schema as { $ref?: string; type?: unknown; anyOf?: Json[]; enum?: unknown[]; format?: string }
  if ($ref) return exampleOf((components[$ref.split('/').at(-1) ?? ''] ?? {}) as Json, components, depth)
  if (schema.example !== undefined) return schema.example
  if (schema.const !== undefined) return schema.const
  if (schema.default !== undefined) return schema.default
  if (words) return words[0]
  if (anyOf) return exampleOf(anyOf.find((branch) => branch.type !== 'null') ?? {}, components, depth)
  if (type === 'object') return depth > maxDepth ? {} : objectExample(schema, components, depth)
  if (type === 'array') return depth > maxDepth ? [] : [exampleOf((schema.items ?? {}) as Json, components, depth + 1)]
  if (type === 'integer' || type === 'number')
    return Math.max(Number(schema.minimum ?? 1), Math.min(Number(schema.maximum ?? 1), 1))
  if (type === 'boolean') return true
  if (type === 'string') return (format && formats[format]) ?? 'text'
  return null
}

function objectExample(schema: Json, components: Json, depth: number): Json {
  const entries = Object.entries((schema.properties ?? {}) as Record<string, Json>)
  return Object.fromEntries(entries.map(([name, property]) => [name, exampleOf(property, components, depth + 1)]))
}
