import type { components } from './openapi.ts'

const directions = ['north', 'north-east', 'east', 'south-east', 'south', 'south-west', 'west', 'north-west']

/** Says where a position is: "12 km north-east of Arnhem", or "in Arnhem" within a kilometre. */
export function nearText({ name, distanceKm, bearing }: NonNullable<components['schemas']['Near']>): string {
  if (distanceKm < 1) return `in ${name}`
  return `${Math.round(distanceKm)} km ${directions[Math.round(bearing / 45) % 8]} of ${name}`
}
