import { z } from 'zod'
import { nearText } from '../../near.ts'
import { pageInput, pageOutput, pageText } from '../list-page.ts'
import { latitude, longitude } from '../position.ts'
import { tool } from '../tool.ts'

const zone = z.object({
  lat: z.number(),
  lon: z.number(),
  nearTown: z.string().nullable(),
  areaKm2: z.number(),
  noServiceS: z.number().describe('Seconds without service of all devices.'),
  serviceRatio: z.number().describe('The part of the minutes of devices with service, from 0 to 1.'),
  devices: z.number(),
  worstPlmn: z.string().nullable(),
  bestPlmn: z.string().nullable(),
  lastAt: z.string(),
})

/** `dead_zones`. */
export const deadZonesTool = tool({
  name: 'dead_zones',
  title: 'Dead zones',
  description: 'Lists the places where routers had no service, the longest time without service first.',
  input: z.strictObject({
    box: z
      .strictObject({ west: longitude, south: latitude, east: longitude, north: latitude })
      .optional()
      .describe('Only zones with their centre in this box.'),
    plmn: z
      .string()
      .regex(/^\d{5,6}$/)
      .exactOptional()
      .describe('Only samples of this operator: MCC and MNC.'),
    sinceMinutes: z.int().min(1).max(129_600).default(43_200),
    ...pageInput,
  }),
  output: pageOutput(zone),
  about: ({ box, plmn }) => [box && boxText(box), plmn].filter(Boolean).join(' '),
  async run({ session: { client }, organizationId }, { box, ...rest }) {
    const query = { orgId: organizationId, ...(box && { bbox: boxText(box) }), ...rest }
    const { items, nextCursor } = await client.get('/fleet/dead-zones', { params: { query } })
    const zones = items.map(({ near, ...item }) => ({ ...item, nearTown: near && nearText(near) }))
    const rows = zones.map(({ lat, lon, nearTown, areaKm2, noServiceS, devices, worstPlmn, bestPlmn }) => [
      ...[nearTown, `${lat.toFixed(4)},${lon.toFixed(4)}`, areaKm2.toFixed(2)],
      ...[Math.round(noServiceS / 60), devices, worstPlmn, bestPlmn],
    ])
    const header = ['NEAR', 'POSITION', 'KM2', 'NO SERVICE MIN', 'DEVICES', 'WORST', 'BEST']
    const value = { items: zones, nextCursor }
    return { value, text: pageText(value, { header, rows, ifEmpty: 'No dead zones are known.' }) }
  },
})

type Box = { west: number; south: number; east: number; north: number }

const boxText = ({ west, south, east, north }: Box): string => [west, south, east, north].join(',')
