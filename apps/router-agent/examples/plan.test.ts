import { expect, test } from 'vitest'
import { distanceM, spotAt } from '../world/paths.ts'
import { makeRoster } from '../world/roster.ts'
import { movementAt } from '../world/timetable.ts'
import { castOf, placesOf, rulesOf } from './plan.ts'

const roster = makeRoster(200, 1)
const places = placesOf(roster)
const namesOf = (items: { name: string }[]) => items.map(({ name }) => name)
const startMs = Date.UTC(2026, 10, 21, 8)
const minuteMs = 60_000

test('depots and ports have different names, and a vehicle or ship stands in each within a day', () => {
  expect(new Set(namesOf(places)).size).toBe(places.length)
  expect(namesOf(places)).toEqual(expect.arrayContaining(['Depot Berlin', 'Port Dover', 'Port Calais']))
  const minutes = Array.from({ length: 24 * 12 }, (_, index) => startMs + index * 5 * minuteMs)
  for (const { name, area } of places) {
    const isInside = ({ path, timetable }: (typeof roster)[number]) =>
      minutes.some((atMs) => {
        const { alongM, speedMps } = movementAt(timetable, atMs)
        const { lat, lon } = spotAt(path, alongM)
        return speedMps === 0 && distanceM([lat, lon], [area.lat, area.lon]) < area.radiusM
      })
    expect(roster.some(isInside), name).toBe(true)
  }
})

test('the rules have conditions of seven kinds; without the depot there is no rule for it', () => {
  const rules = rulesOf(roster, Object.fromEntries(namesOf(places).map((name) => [name, `id of ${name}`])))
  expect(new Set(rules.map(({ condition }) => condition.kind)).size).toBe(7)
  expect(rules.at(-1)).toMatchObject({ name: 'At the depot Berlin', condition: { placeId: 'id of Depot Berlin' } })
  expect(rulesOf(roster, {})).toEqual(rules.slice(0, -1))
})

test('some ships remain at the first version of the profile, and the ship of the failed update is none of them', () => {
  const { ships, updatedShips, failing } = castOf(roster)
  expect([ships.length, updatedShips.length]).toEqual([10, 6])
  expect(ships).toEqual(expect.arrayContaining(updatedShips))
  expect(ships).not.toContain(failing.ship)
  expect(roster.find(({ serial }) => serial === failing.site)?.sleep).toBeUndefined()
})

test('a fleet of any size has examples', () => {
  for (const count of [1, 2, 5, 9, 20]) {
    const small = makeRoster(count, 1)
    const { ships, updatedShips } = castOf(small)
    expect(updatedShips.length).toBeLessThanOrEqual(ships.length)
    expect(placesOf(small).length).toBeGreaterThan(0)
  }
})
