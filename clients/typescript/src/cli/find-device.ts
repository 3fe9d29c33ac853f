import { folded } from '../folded.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import type { Session } from './session.ts'

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** The id of a device that is named by its id, its serial or its name. */
export async function findDeviceId({ client }: Session, reference: string): Promise<string> {
  if (uuid.test(reference)) return reference
  const { items } = await client.get('/devices', { params: { query: { q: reference, limit: 200 } } })
  const spelled = reference.normalize()
  const same = items.filter(({ serial, name }) => [serial, name].some((text) => text.normalize() === spelled))
  // A serial is unique in any case.
  const inAnyCase = items.filter(({ serial }) => folded(serial) === folded(reference))
  const exact = same.length > 0 ? same : inAnyCase
  const [first, second] = exact
  if (first && !second) return first.id
  if (second) {
    throw new CommandError(`${exact.length} devices are named "${reference}". Use an id.`, exitCodes.refused)
  }
  throw new CommandError(`There is no device with the id, serial or name "${reference}".`, exitCodes.notFound)
}
