import type { Answer, TestControlPlane } from '#test/control-plane'
import { createOpenApi } from '../../apps/control-plane/http/openapi.ts'
import { routes } from '../../apps/control-plane/routes.ts'
import { type Entry, entries } from './matrix-entries.ts'
import type { World } from './world.ts'

/**
 * An operation of the published contract, with its entry of the matrix. `answers`: its documented statuses. `fields`: those of
 * its answer with 200.
 */
export type Operation = {
  name: string
  method: string
  path: string
  access: string
  answers: number[]
  /** Whether the contract documents the header Idempotency-Key. */
  takesKey: boolean
  fields: string[]
  entry: Entry
}

type Schema = { $ref?: string; properties?: Record<string, unknown> }
const document = createOpenApi(routes, 'http://routerfleet.test')

function fieldsOf(answer: Record<string, unknown> | undefined): string[] {
  const content = (answer?.content ?? {}) as Record<string, { schema?: Schema }>
  const schema = content['application/json']?.schema ?? {}
  const name = schema.$ref?.split('/').at(-1) ?? ''
  const { properties } = name ? (document.components.schemas[name] as Schema) : schema
  return Object.keys(properties ?? {})
}

/** Every operation of the published contract, so that a route added without an entry fails a test. */
export const operations: Operation[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => {
    const name = `${method.toUpperCase()} ${path}`
    const answers = Object.keys(operation.responses).map(Number)
    const takesKey = operation.parameters.some((parameter) => parameter.name === 'Idempotency-Key')
    return {
      name,
      method: method.toUpperCase(),
      path,
      access: operation['x-access'],
      answers,
      takesKey,
      fields: fieldsOf(operation.responses[200]),
      entry: entries[name] ?? {},
    }
  }),
)

/** Operations that need credentials of the control plane. */
export const guarded = operations.filter(({ entry }) => !entry.unguarded)

/** The path with the ids of the world. `lastId` stands in place of the last one. */
export function concretePath({ path, entry }: Operation, world: World, lastId?: string): string {
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
  const concrete = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (lastId !== undefined && name === names.at(-1)) return encodeURIComponent(lastId)
    if (name === 'modelSegment') return 'router'
    if (['z', 'x', 'y'].includes(name)) return '0'
    if (name === 'collection') return 'devices'
    if (name === 'feature') return world.deviceId
    return idOf(name, path, entry, world)
  })
  return `${concrete}${entry.query?.(world) ?? ''}`
}

function idOf(name: string, path: string, entry: Entry, world: World): string {
  if (name === 'id') return world[entry.id ?? 'deviceId']
  if (name === 'deviceId' && path.includes('/members/')) return world.memberDeviceId
  return world[name as keyof World]
}

/** The id of the world for the last parameter of the path. */
export function lastIdOf({ path, entry }: Operation, world: World): string {
  const name = [...path.matchAll(/\{(\w+)\}/g)].at(-1)?.[1] ?? ''
  return idOf(name, path, entry, world)
}

// Each attempt from a network of its own, since one network may fail to authenticate only so often.
let attempts = 0

/** Calls an operation with the body of its entry. */
export function attempt(
  api: TestControlPlane,
  world: World,
  operation: Operation,
  { token, lastId }: { token?: string | undefined; lastId?: string | undefined } = {},
): Promise<Answer> {
  const { method, entry } = operation
  return api.call(method, concretePath(operation, world, lastId), {
    ...(token === undefined ? {} : { token }),
    ...(entry.json ? { json: entry.json(world) } : {}),
    ...(entry.body ? { body: entry.body.text } : {}),
    headers: {
      'x-forwarded-for': `2001:db8:0:${(attempts++).toString(16)}::1`,
      ...(entry.body ? { 'content-type': entry.body.type } : {}),
    },
  })
}
