import { expect, test } from 'vitest'
import { createOrganizationMap } from '#fleet-map/live/organization-map'
import { createRevisions } from '#fleet-map/revisions'
import { createSelections } from '#fleet-map/selection/selections'

const maxBytes = 100_000
const nowMs = 1_000

/** Selections of a map with 100 devices. */
function selectionsOfMap() {
  const revisions = createRevisions()
  const map = createOrganizationMap('organization', revisions)
  const register = (index: number, status: string) =>
    map.applyRegistry([
      {
        ...{ deviceId: `device ${index}`, organizationId: 'organization', name: 'Router' },
        ...{ status, tags: index === 0 ? [] : ['bus'], ownedFromMs: null },
      },
    ])
  for (let index = 0; index < 100; index++) register(index, 'online')
  const selections = createSelections(revisions, { selections: maxBytes, seenDevices: maxBytes })
  const windows = [{ map, fromMs: 0 }]
  const select = (filterKey: string, since?: string) =>
    selections.select(
      {
        filterKey,
        filter: { tags: ['bus'] },
        since: since === undefined ? undefined : { asOf: since, epoch: revisions.epoch, revision: 1, timeMs: nowMs },
        after: undefined,
      },
      windows,
      { asOf: 'now', nowMs, found: undefined },
    )
  return { selections, select, register }
}

test('the device ids of responses are cached within a limit of bytes, the newest responses first', () => {
  const { selections, select, register } = selectionsOfMap()
  for (let answer = 0; answer < 200; answer++) {
    select(`filter ${answer}`)
    expect(selections.keptBytes().seenDevices).toBeLessThanOrEqual(maxBytes)
  }
  register(0, 'offline')
  // Only with the ids of the response is it known that the filter did not select the changed device before.
  expect(select('filter 199', 'now').gone).toEqual([])
  expect(select('filter 0', 'now').gone).toEqual(['device 0'])
})

test('selections are cached within a limit of bytes, the most recently used first', () => {
  const { selections, select } = selectionsOfMap()
  const made = Array.from({ length: 200 }, (_, filter) => {
    const { selection } = select(`filter ${filter}`)
    expect(selections.keptBytes().selections).toBeLessThanOrEqual(maxBytes)
    return selection
  })
  expect(select('filter 199').selection).toBe(made[199])
  expect(select('filter 0').selection).not.toBe(made[0])
})
