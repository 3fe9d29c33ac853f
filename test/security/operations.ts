import { createOpenApi } from '../../apps/control-plane/http/openapi.ts'
import { routes } from '../../apps/control-plane/routes.ts'
import { type Entry, entries } from './matrix-entries.ts'
import type { World } from './world.ts'

export type Operation = {
  name: string
  method: string
  path: string
  access: string
  entry: Entry
  /** Whether the contract documents the header Idempotency-Key. */
  takesKey: boolean
}

/** Every operation of the published contract, so that a route added without an entry fails in the tests. */
export const operations: Operation[] = Object.entries(createOpenApi(routes, 'http://routerfleet.test').paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const name = `${method.toUpperCase()} ${path}`
      const takesKey = operation.parameters.some((parameter) => parameter.name === 'Idempotency-Key')
      return {
        name,
        method: method.toUpperCase(),
        path,
        access: operation['x-access'],
        entry: entries[name] ?? {},
        takesKey,
      }
    }),
)

/** The path of an operation with the ids of the world, and its query. */
export function placeOf({ path, entry }: Operation, world: World): string {
  const concrete = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (name === 'modelSegment') return 'router'
    if (['z', 'x', 'y'].includes(name)) return '0'
    if (name === 'id') return world[entry.id ?? 'deviceId']
    if (name === 'deviceId' && path.includes('/members/')) return world.memberDeviceId
    return world[name as keyof World]
  })
  return `${concrete}${entry.query?.(world) ?? ''}`
}
