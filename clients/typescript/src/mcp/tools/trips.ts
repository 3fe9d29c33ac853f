import { z } from 'zod'
import { findDeviceOf } from '../../cli/find-device.ts'
import { nearText } from '../../near.ts'
import type { components } from '../../openapi.ts'
import { deviceReference } from '../device-reference.ts'
import { pageInput, pageOutput, pageText } from '../list-page.ts'
import { tool } from '../tool.ts'

const tripEnd = z.object({
  lat: z.number(),
  lon: z.number(),
  placeName: z.string().nullable().describe('The place of the organization that contains it.'),
  nearTown: z.string().nullable(),
})
const trip = z.object({
  departedAt: z.string(),
  arrivedAt: z.string().nullable().describe('Null for a trip that is not over.'),
  from: tripEnd,
  to: tripEnd,
  distanceM: z.number(),
  durationS: z.number(),
  noServiceS: z.number().nullable(),
  rsrpP50Dbm: z.number().nullable().describe('The median signal of the trip.'),
})

/** `device_trips`. */
export const deviceTripsTool = tool({
  name: 'device_trips',
  title: 'Trips of a device',
  description: 'Lists where one router drove, the newest trip first, with the time without service and the signal.',
  input: z.strictObject({
    device: deviceReference,
    sinceMinutes: z.int().min(1).max(129_600).default(1_440).describe('Trips that began in the last minutes.'),
    ...pageInput,
  }),
  output: pageOutput(trip),
  about: ({ device }) => device,
  async run({ session: { client }, organizationId }, { device, ...rest }) {
    const { id, name } = await findDeviceOf(client, organizationId, device)
    const query = { orgId: organizationId, deviceId: id, ...rest }
    const { items, nextCursor } = await client.get('/fleet/trips', { params: { query } })
    const trips = items.map((item) => ({ ...item, from: endOf(item.from), to: endOf(item.to) }))
    const rows = trips.map(({ departedAt, arrivedAt, from, to, distanceM, durationS, noServiceS, rsrpP50Dbm }) => [
      ...[departedAt, arrivedAt ?? 'under way', placeText(from), placeText(to)],
      ...[(distanceM / 1_000).toFixed(1), Math.round(durationS / 60), noServiceS, rsrpP50Dbm],
    ])
    const header = ['DEPARTED', 'ARRIVED', 'FROM', 'TO', 'KM', 'MINUTES', 'NO SERVICE S', 'RSRP DBM']
    const value = { items: trips, nextCursor }
    return { value, text: pageText(value, { header, rows, ifEmpty: `${name} made no trip.` }) }
  },
})

type End = components['schemas']['TripEnd']

const endOf = ({ lat, lon, placeName, near }: End) => ({ lat, lon, placeName, nearTown: near && nearText(near) })

const placeText = ({ lat, lon, placeName, nearTown }: z.infer<typeof tripEnd>): string =>
  placeName ?? nearTown ?? `${lat.toFixed(4)},${lon.toFixed(4)}`
