import { expect, test } from 'vitest'
import { createKeptSelections } from '#fleet-map/gps/kept-selections'
import { createSeenDevices } from '#fleet-map/gps/seen-devices'
import { type Selection, selectDevices } from '#fleet-map/gps/selection'
import { createOrganizationMap } from '#fleet-map/live/organization-map'
import { createRevisions } from '#fleet-map/revisions'

const maxBytes = 100_000

test('the device ids of responses are cached within a limit of bytes, the newest responses first', () => {
  const seen = createSeenDevices(maxBytes)
  const deviceIds = new Set(Array.from({ length: 100 }, (_, index) => `device ${index}`))
  for (let answer = 0; answer < 1_000; answer++) {
    seen.remember(`bbox ${answer}`, 'now', deviceIds)
    expect(seen.keptBytes()).toBeLessThanOrEqual(maxBytes)
  }
  expect(seen.recall('bbox 999', 'now')).toBe(deviceIds)
  expect(seen.recall('bbox 0', 'now')).toBeUndefined()
})

test('selections are cached within a limit of bytes, the most recently used first', () => {
  const map = createOrganizationMap('organization', createRevisions())
  map.applyRegistry(
    Array.from({ length: 100 }, (_, index) => ({
      ...{ deviceId: `device ${index}`, organizationId: 'organization', name: 'Router' },
      ...{ status: 'online', tags: [], ownedFromMs: null },
    })),
  )
  const windows = [{ map, fromMs: 0 }]
  const kept = createKeptSelections(maxBytes)
  let made = 0
  const select = (): Selection => {
    made++
    return selectDevices(windows, { filter: {}, limit: 1_000, nowMs: 1_000, collectIds: true })
  }
  for (let filter = 0; filter < 200; filter++) {
    kept.keep(`filter ${filter}`, windows, 1_000, select)
    expect(kept.keptBytes()).toBeLessThanOrEqual(maxBytes)
  }
  expect(made).toBe(200)
  kept.keep('filter 199', windows, 1_000, select)
  expect(made).toBe(200)
  kept.keep('filter 0', windows, 1_000, select)
  expect(made).toBe(201)
})
