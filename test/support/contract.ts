import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { openEnums, openUnions } from '../../apps/control-plane/http/openapi-enums.ts'

const run = promisify(execFile)

/** The parts of an OpenAPI document that the comparison changes or reads itself. */
type Document = {
  paths: Record<string, Record<string, { operationId?: string }>>
  webhooks?: Record<string, { post: { requestBody?: { content: object } } }>
  components: { schemas: Record<string, { enum?: unknown[]; oneOf?: unknown[]; anyOf?: unknown[] }> }
}

/** A change of the API that can break a program. */
export type Change = { id: string; operation?: string; path?: string; text: string }

/** A change that was made on purpose. `text` is a part of its text, and `path` its path, if it has one. */
export type AcceptedChange = { id: string; path?: string; text: string; reason: string }

/** Where `.ci/run` installs oasdiff. */
const installed = join(import.meta.dirname, '../../.cache/oasdiff')

/** Returns the path of oasdiff on the PATH or in the folder where `.ci/run` installs it, or undefined. */
export const findOasdiff = (): string | undefined =>
  [...(process.env.PATH ?? '').split(delimiter), installed]
    .map((folder) => join(folder, 'oasdiff'))
    .find((path) => existsSync(path))

/** The shortest time between the deprecation of an operation or a parameter and its removal. */
const deprecationDays = 365

/** A response may have larger and smaller values, and other patterns, than before: only its types are promised. */
const withinPromise =
  /^response-.*-(max|min)(-\w+)*-(increased|decreased|unset)$|^response-.*-pattern-(changed|removed)$/

/**
 * Returns the changes between two documents that docs/versioning.md does not allow within a major version, as oasdiff finds
 * them. Warnings count, because the API refuses unknown members and parameters.
 */
export async function incompatibleChanges(oasdiff: string, kept: object, present: object): Promise<Change[]> {
  const [before, after] = [kept as Document, present as Document]
  const folder = await mkdtemp(join(tmpdir(), 'routerfleet-contract-'))
  try {
    const files = [join(folder, 'before.json'), join(folder, 'after.json')] as const
    await writeFile(files[0], JSON.stringify(withWebhooksAsAnswers(withOpenMembers(before, after))))
    await writeFile(files[1], JSON.stringify(withWebhooksAsAnswers(after)))
    const options = ['--format', 'json', '--deprecation-days-stable', String(deprecationDays)]
    const { stdout } = await run(oasdiff, ['breaking', ...files, ...options], { maxBuffer: 64 * 1024 * 1024 })
    const found = JSON.parse(stdout || '[]') as Change[]
    return [...found.filter(({ id }) => !withinPromise.test(id)), ...renamed(before, after)]
  } finally {
    await rm(folder, { recursive: true })
  }
}

/** Divides changes into those that no entry accepts, and returns the entries that accept nothing. */
export function judge(changes: readonly Change[], accepted: readonly AcceptedChange[]) {
  const accepts = (entry: AcceptedChange, change: Change) =>
    entry.id === change.id &&
    change.text.includes(entry.text) &&
    (entry.path === undefined || entry.path === change.path)
  return {
    refused: changes.filter((change) => !accepted.some((entry) => accepts(entry, change))),
    unused: accepted.filter((entry) => !changes.some((change) => accepts(entry, change))),
  }
}

/** The document with the members that the other one adds to open enums and unions. */
function withOpenMembers(document: Document, { components: { schemas: added } }: Document): Document {
  const schemas = Object.entries(document.components.schemas).map(([name, schema]) => {
    const members = openEnums.has(name)
      ? (['enum'] as const)
      : openUnions.has(name)
        ? (['oneOf', 'anyOf'] as const)
        : []
    const joined = members.flatMap((key) => (schema[key] ? [[key, union(schema[key], added[name]?.[key])]] : []))
    return [name, { ...schema, ...Object.fromEntries(joined) }]
  })
  // What an added member refers to.
  return { ...document, components: { ...document.components, schemas: { ...added, ...Object.fromEntries(schemas) } } }
}

function union(members: readonly unknown[], more: readonly unknown[] = []): unknown[] {
  const known = new Set(members.map((member) => JSON.stringify(member)))
  return [...members, ...more.filter((member) => !known.has(JSON.stringify(member)))]
}

/** Webhooks as operations whose answer is the body that the service sends, because oasdiff compares them as requests. */
function withWebhooksAsAnswers({ webhooks = {}, ...document }: Document): object {
  const answers = Object.entries(webhooks).map(([name, { post }]) => [
    `/webhook:${name}`,
    { get: { operationId: `webhook:${name}`, responses: { 200: { content: post.requestBody?.content ?? {} } } } },
  ])
  return { ...document, paths: { ...document.paths, ...Object.fromEntries(answers) } }
}

/** Names that generated clients use and that oasdiff does not compare. */
function renamed(before: Document, after: Document): Change[] {
  const operations = Object.entries(before.paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, { operationId }]) => {
      const now = after.paths[path]?.[method]
      if (!now || now.operationId === operationId) return []
      return [
        { id: 'operation-id-changed', operation: method.toUpperCase(), path, text: `${operationId} has another name` },
      ]
    }),
  )
  const schemas = Object.keys(before.components.schemas).filter((name) => !(name in after.components.schemas))
  return [...operations, ...schemas.map((name) => ({ id: 'schema-removed', text: `the schema ${name} is missing` }))]
}
