import { z } from 'zod'
import { table } from '../../cli/table.ts'
import { latitude, longitude } from '../position.ts'
import { tool } from '../tool.ts'

const mostZones = 20
const position = z.strictObject({ lat: latitude, lon: longitude })
const metres = z.number()

/** `forecast_route`. */
export const forecastTool = tool({
  name: 'forecast_route',
  title: 'Forecast of a route',
  description:
    'Forecasts the signal along a route from what the routers of the organization measured: dead zones, and the best operator.',
  input: z.strictObject({
    path: z.array(position).min(2).max(1_000).describe('The route from start to end, at most 2,000 km.'),
    plmn: z
      .string()
      .regex(/^\d{5,6}$/)
      .optional()
      .describe('Only samples of this operator: MCC and MNC.'),
    sinceMinutes: z.int().min(1).max(129_600).default(43_200),
  }),
  output: z.object({
    lengthM: metres,
    knownM: metres.describe('Metres with data.'),
    poorM: metres,
    deadM: metres,
    recommendedPlmn: z.string().nullable(),
    deadZones: z.array(z.object({ fromM: metres, toM: metres, lengthM: metres })).describe('The longest ones.'),
    moreDeadZones: z.int().describe('The number of dead zones that are left out.'),
  }),
  about: ({ path }) => [path[0], path.at(-1)].map((end) => `${end?.lat},${end?.lon}`).join(' to '),
  async run({ session: { client }, organizationId }, { path, plmn, sinceMinutes }) {
    const coordinates = path.map(({ lat, lon }): [number, number] => [lon, lat])
    const body = { path: coordinates, orgId: organizationId, sinceMinutes, ...(plmn && { plmn }) }
    const { lengthM, summary } = await client.post('/fleet/forecast', { body })
    const longest = [...summary.deadZones].sort((one, other) => other.lengthM - one.lengthM).slice(0, mostZones)
    const deadZones = longest.sort((one, other) => one.fromM - other.fromM)
    const moreDeadZones = summary.deadZones.length - deadZones.length
    const lines = [
      `Length ${km(lengthM)}, with data ${km(summary.knownM)}, poor ${km(summary.poorM)}, dead ${km(summary.deadM)}.`,
      summary.recommendedPlmn ? `Recommended operator: ${summary.recommendedPlmn}.` : 'No operator is recommended.',
      table(
        ['DEAD FROM', 'TO', 'LENGTH'],
        deadZones.map((zone) => [km(zone.fromM), km(zone.toM), km(zone.lengthM)]),
        'No dead zones are known.',
      ),
      ...(moreDeadZones > 0 ? [`${moreDeadZones} shorter dead zones are left out.`] : []),
    ]
    return { value: { ...summary, lengthM, deadZones, moreDeadZones }, text: lines.join('\n') }
  },
})

const km = (length: number): string => `${(length / 1_000).toFixed(1)} km`
