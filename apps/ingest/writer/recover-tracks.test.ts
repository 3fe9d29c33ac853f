import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { openQuestdbSql, type QuestdbSql } from '#questdb/sql'
import { questdbConnection } from '#test/questdb'
import { storeRows } from '#test/telemetry-rows'
import { createDeviceTrack } from './device-track.ts'
import { recoverTracks } from './recover-tracks.ts'

const minuteMs = 60_000
const onFailure = (_deviceId: string, error: unknown) => {
  throw error
}

let questdb: QuestdbSql
beforeAll(() => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
})
afterAll(() => questdb.end())

test('a stay that went on after the moment is recovered from its beginning, as it was then', async () => {
  const [deviceId, organizationId] = [newId(), newId()]
  const arrivedAtMs = Date.now() - 4 * 60 * minuteMs
  const at = (minute: number) => ({ tsMs: arrivedAtMs + minute * minuteMs, deviceId, organizationId })
  const fixes = Array.from({ length: 121 }, (_, minute) => ({ ...at(minute), lat: 50, lon: 8, usable: true }))
  await storeRows(questdb, 'location', fixes)
  const stay = { id: newId(), departedAtMs: null, lat: 50, lon: 8, radiusM: 0, fixCount: 1, gap: false }
  const lastInsideAtMs = at(120).tsMs
  await storeRows(questdb, 'dwell', [{ ...at(0), ...stay, lastInsideAtMs, receivedAtMs: lastInsideAtMs }])
  const track = createDeviceTrack('vehicle')
  await recoverTracks(questdb, new Map([[deviceId, track]]), { receivedBeforeMs: at(105).tsMs, onFailure })
  const { dwell } = track.alignment.state()
  expect(dwell.stay?.anchor.firstReportMs).toBe(arrivedAtMs)
  expect(dwell.stay?.last.lastReportMs).toBe(at(104).tsMs)
  expect(track.past).toBeUndefined()
})
