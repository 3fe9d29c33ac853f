import { createNumberList, reserveNumbers } from '#core/number-list'
import { earthRadiusM, radians } from '#telemetry/geo/geo'
import { apartM, type FixList, fixCount, fixLat, fixLon } from './fix-list.ts'

/** Chords this close to the limit, relative to it, are decided by the distance itself. Rounding is a hundredth of it. */
const uncertainShare = 1e-9

/**
 * Unit vectors of the fixes of one device from `first` on. Compared by the square of their chord, they answer as `distanceM` does at a
 * twentieth of its cost. A vector takes longer than a comparison, so those of one report are kept.
 */
const vectors = { of: undefined as FixList | undefined, first: 0, list: createNumberList() }

/** Call it before the fixes of another device are in a list, and after its first fixes were dropped. */
export function forgetVectors(): void {
  vectors.of = undefined
}

function findVectors(fixes: FixList, first: number): void {
  const { list } = vectors
  if (vectors.of !== fixes || first < vectors.first) {
    vectors.of = fixes
    vectors.first = first
    list.length = 0
  }
  const count = fixCount(fixes)
  for (let fix = vectors.first + list.length / 3; fix < count; fix++) {
    const [lat, lon] = [fixLat(fixes, fix) * radians, fixLon(fixes, fix) * radians]
    const cosLat = Math.cos(lat)
    reserveNumbers(list, 3)
    list.numbers[list.length] = cosLat * Math.cos(lon)
    list.numbers[list.length + 1] = cosLat * Math.sin(lon)
    list.numbers[list.length + 2] = Math.sin(lat)
    list.length += 3
  }
}

/** The first fix from `first` on that has all later ones within the radius. The newest one has. */
export function firstCentre(fixes: FixList, first: number, radiusM: number): number {
  findVectors(fixes, first)
  let centre = first
  while (!isCentreOfRest(fixes, centre, radiusM)) centre++
  return centre
}

function isCentreOfRest(fixes: FixList, centre: number, radiusM: number): boolean {
  const limit = (2 * Math.sin(radiusM / (2 * earthRadiusM))) ** 2
  const [surelyInside, surelyOutside] = [limit * (1 - uncertainShare), limit * (1 + uncertainShare)]
  const { numbers } = vectors.list
  const at = 3 * (centre - vectors.first)
  const [x, y, z] = [numbers[at] as number, numbers[at + 1] as number, numbers[at + 2] as number]
  // The newest first: it is the one that has just put an anchor next to this one out of reach.
  for (let other = fixCount(fixes) - 1; other > centre; other--) {
    const from = 3 * (other - vectors.first)
    const dx = (numbers[from] as number) - x
    const dy = (numbers[from + 1] as number) - y
    const dz = (numbers[from + 2] as number) - z
    const chord = dx * dx + dy * dy + dz * dz
    if (chord > surelyOutside || (chord > surelyInside && apartM(fixes, centre, other) > radiusM)) return false
  }
  return true
}
