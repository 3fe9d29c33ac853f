import type { Routerfleet } from '../client.ts'
import { folded } from '../folded.ts'
import type { components } from '../openapi.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import type { Session } from './session.ts'

type Device = components['schemas']['Device']

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const pageSize = 200
/** The service searches for at most so many UTF-16 units. A name can be longer. */
const longestSearch = 100
const halfCharacter = /[\ud800-\udbff]$/

const profileHint = '\nOnly the organization of the profile was searched. Add `--org ID` for another one.'

export const isDeviceId = (reference: string): boolean => uuid.test(reference)

/**
 * The id of a device that is named by its id, its serial or its name, in the organization of `--org` or of the profile. Throws with
 * exit code 4 if it is not there. An id is checked only against `--org`, which needs `device:read`.
 */
export async function findDeviceId(session: Session, reference: string): Promise<string> {
  const { client, askedOrganizationId, chosenOrganizationId: orgId } = session
  if (!isDeviceId(reference)) {
    const isOfProfile = orgId !== undefined && askedOrganizationId === undefined
    const scope = orgId === undefined ? {} : { orgId }
    return (await deviceNamed(client, scope, reference, isOfProfile ? profileHint : '')).id
  }
  if (askedOrganizationId !== undefined) await requireDeviceOf(client, askedOrganizationId, reference)
  return reference
}

/** The device of one organization that is named by its id, its serial or its name. */
export async function findDeviceOf(client: Routerfleet, orgId: string, reference: string): Promise<Device> {
  if (!isDeviceId(reference)) return deviceNamed(client, { orgId }, reference)
  const { items } = await client.get('/devices', { params: { query: { orgId, deviceId: [reference] } } })
  return items[0] ?? throwNone(reference)
}

async function requireDeviceOf(client: Routerfleet, orgId: string, id: string): Promise<void> {
  const { organizationId } = await client.get('/devices/{id}', { params: { path: { id } } })
  if (organizationId === orgId.toLowerCase()) return
  throw new CommandError(`The device ${id} is not in the organization ${orgId}.`, exitCodes.notFound)
}

/** Searches all pages: a short name is part of many others. */
async function deviceNamed(
  client: Routerfleet,
  scope: { orgId?: string },
  reference: string,
  hint = '',
): Promise<Device> {
  const spelled = reference.normalize()
  const q = spelled.trim().slice(0, longestSearch).replace(halfCharacter, '')
  const same: Device[] = []
  const inAnyCase: Device[] = []
  for await (const device of client.list('/devices', { params: { query: { ...scope, q, limit: pageSize } } })) {
    const { serial, name } = device
    if ([serial, name].some((text) => text.normalize() === spelled)) same.push(device)
    // A serial is unique in any case.
    else if (folded(serial) === folded(reference)) inAnyCase.push(device)
    if (same.length > 1) break
  }
  const [found, other] = same.length > 0 ? same : inAnyCase
  if (other === undefined) return found ?? throwNone(reference, hint)
  throw new CommandError(`More than one device is named "${reference}". Use an id.`, exitCodes.refused)
}

function throwNone(reference: string, hint = ''): never {
  throw new CommandError(`There is no device with the id, serial or name "${reference}".${hint}`, exitCodes.notFound)
}
