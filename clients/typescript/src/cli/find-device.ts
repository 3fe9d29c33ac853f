import type { Routerfleet } from '../client.ts'
import { folded } from '../folded.ts'
import type { components } from '../openapi.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import type { Session } from './session.ts'

type Device = components['schemas']['Device']

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const mostMatches = 200

export const isDeviceId = (reference: string): boolean => uuid.test(reference)

/** The id of a device that is named by its id, its serial or its name. */
export async function findDeviceId({ client }: Session, reference: string): Promise<string> {
  if (isDeviceId(reference)) return reference
  const { items } = await client.get('/devices', { params: { query: { q: reference, limit: mostMatches } } })
  return onlyOne(reference, named(items, reference)).id
}

/** The device of one organization that is named by its id, its serial or its name. */
export async function findDeviceOf(client: Routerfleet, orgId: string, reference: string): Promise<Device> {
  const isId = isDeviceId(reference)
  const wanted = isId ? { deviceId: [reference] } : { q: reference, limit: mostMatches }
  const { items } = await client.get('/devices', { params: { query: { orgId, ...wanted } } })
  return onlyOne(reference, isId ? items : named(items, reference))
}

function named(devices: readonly Device[], reference: string): Device[] {
  const spelled = reference.normalize()
  const same = devices.filter(({ serial, name }) => [serial, name].some((text) => text.normalize() === spelled))
  // A serial is unique in any case.
  const inAnyCase = devices.filter(({ serial }) => folded(serial) === folded(reference))
  return same.length > 0 ? same : inAnyCase
}

function onlyOne(reference: string, [first, ...others]: readonly Device[]): Device {
  if (first && others.length === 0) return first
  if (first) {
    throw new CommandError(`${others.length + 1} devices are named "${reference}". Use an id.`, exitCodes.refused)
  }
  throw new CommandError(`There is no device with the id, serial or name "${reference}".`, exitCodes.notFound)
}
