import { z } from 'zod'
import { nearSchema } from '#core/near'
import { numberIn } from '#core/schemas'
import { type Route, route } from '../../http/route.ts'

const degrees = (most: number) => numberIn(z.number().min(-most).max(most))

export const townRoutes: Route[] = [
  route({
    method: 'get',
    path: '/towns/nearest',
    operationId: 'getNearestTown',
    summary: 'Get the nearest town of a position',
    description:
      'Names a position as people do: “12 km north-east of Arnhem”. Trips, dwells, dead zones, times without service, alerts and lists of devices have this already.',
    tag: 'Fleet GPS',
    access: 'principal',
    query: z.strictObject({
      lat: degrees(90).describe('Latitude in degrees.').meta({ example: 52.05 }),
      lon: degrees(180).describe('Longitude in degrees.').meta({ example: 6.05 }),
    }),
    answers: {
      200: { description: 'The town, or null.', schema: z.object({ near: nearSchema }).meta({ id: 'NearestTown' }) },
    },
    example: { answer: { near: { name: 'Arnhem', country: 'NL', distanceKm: 12.3, bearing: 45 } } },
    async handle({ services, query }) {
      const [near = null] = await services.fleetMaps.towns.near([query])
      // Without a town, the list could not be read, which may pass.
      return { status: 200, body: { near }, headers: { 'Cache-Control': near ? 'private, max-age=86400' : 'no-store' } }
    },
  }),
]
