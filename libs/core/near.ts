import { z } from 'zod'

/** The nearest town of a position, or null: its towns cannot be read. */
export const nearSchema = z
  .object({
    name: z.string(),
    country: z.string().describe('ISO 3166-1 alpha-2.'),
    distanceKm: z.number(),
    bearing: z.int().describe('From the town to the position, in degrees clockwise from north.'),
  })
  .meta({ id: 'Near' })
  .nullable()
  .describe('The nearest town with at least 1,000 inhabitants (GeoNames, CC BY 4.0).')

export type Near = NonNullable<z.infer<typeof nearSchema>>

export type Towns = {
  /** The nearest town of each position. All null if the towns cannot be read. */
  near(positions: readonly { lat: number; lon: number }[]): Promise<(Near | null)[]>
}

const directions = ['north', 'north-east', 'east', 'south-east', 'south', 'south-west', 'west', 'north-west']

/** Says where a position is: "12 km north-east of Arnhem", or "in Arnhem" within a kilometre. The client has the same. */
export function nearText({ name, distanceKm, bearing }: Near): string {
  if (distanceKm < 1) return `in ${name}`
  return `${Math.round(distanceKm)} km ${directions[Math.round(bearing / 45) % 8]} of ${name}`
}
