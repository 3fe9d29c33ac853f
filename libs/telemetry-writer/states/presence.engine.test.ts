import { afterAll, expect, test, vi } from 'vitest'
import { newId } from '#core/ids'
import { createLogger } from '#http/request-log'
import { openPool } from '#postgres/pool'
import { createTestDatabase } from '#test/database'
import { createJobFleet } from '#test/job-fleet'
import { createPresence } from './presence.ts'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'presence.test' })
const logger = createLogger('test', 'silent')
afterAll(async () => {
  await pool.end()
  await database.drop()
})

const firmwareOf = async (deviceId: string) => {
  const { rows } = await pool.query('SELECT firmware FROM device WHERE id = $1', [deviceId])
  return rows[0]?.firmware
}

test('a report that cannot be written does not delay other devices', async () => {
  const { organizationId, deviceIds } = await createJobFleet(pool, 20)
  const presence = createPresence({ pool, logger })
  const report = (deviceId: string, firmware: string) => ({ deviceId, organizationId, seenAtMs: Date.now(), firmware })
  presence.add([report('no id at all', '1'), ...deviceIds.map((deviceId) => report(deviceId, '1'))])
  await presence.flush()
  expect(await Promise.all(deviceIds.map(firmwareOf))).toEqual(deviceIds.map(() => '1'))
  presence.add(deviceIds.map((deviceId) => report(deviceId, '2')))
  await presence.flush()
  expect(await Promise.all(deviceIds.map(firmwareOf))).toEqual(deviceIds.map(() => '2'))
})

test('keeps one report per device while the database is unavailable', async () => {
  const { organizationId, deviceIds } = await createJobFleet(pool, 2)
  const [deviceId = '', other = ''] = deviceIds
  let isAway = true
  const refuse = () => Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))
  const way = { query: pool.query.bind(pool), connect: () => (isAway ? refuse() : pool.connect()) } as typeof pool
  const presence = createPresence({ pool: way, logger })
  const seenAtMs = Date.now()
  presence.add(Array.from({ length: 200_000 }, () => ({ deviceId, organizationId, seenAtMs, firmware: 'old' })))
  presence.add([{ deviceId: other, organizationId, seenAtMs, firmware: 'kept' }])
  await presence.flush()
  presence.add([{ deviceId, organizationId, seenAtMs: seenAtMs + 1, firmware: 'new' }])
  isAway = false
  await presence.flush()
  expect([await firmwareOf(deviceId), await firmwareOf(other)]).toEqual(['new', 'kept'])
})

test('writes more devices than fit into one transaction', async () => {
  const { organizationId, deviceIds } = await createJobFleet(pool, 5_001)
  const presence = createPresence({ pool, logger })
  const strangers = Array.from({ length: 10 }, () => newId())
  presence.add(
    [...strangers, ...deviceIds].map((deviceId) => ({
      deviceId,
      organizationId,
      seenAtMs: Date.now(),
      firmware: '3',
    })),
  )
  await presence.flush()
  const { rows } = await pool.query(
    `SELECT count(*)::int AS count FROM device WHERE organization_id = $1 AND firmware = '3'`,
    [organizationId],
  )
  expect(rows).toEqual([{ count: 5_001 }])
})

test('writes a report of one of many devices once, and its last-seen time alone if it is not stored soon', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const { organizationId, deviceIds } = await createJobFleet(pool, 2_100)
  const presence = createPresence({ pool, logger })
  const seenAtMs = Date.now()
  const seenCount = async () => {
    const text = 'SELECT count(last_seen_at)::int AS count FROM device WHERE organization_id = $1'
    return (await pool.query<{ count: number }>(text, [organizationId])).rows[0]?.count
  }
  for (const deviceId of deviceIds) presence.seen({ deviceId, organizationId }, seenAtMs)
  await presence.flush()
  expect(await seenCount()).toBe(0)
  presence.add(deviceIds.slice(50).map((deviceId) => ({ deviceId, organizationId, seenAtMs, firmware: '4' })))
  await presence.flush()
  expect(await seenCount()).toBe(2_100)
  for (const deviceId of deviceIds) presence.seen({ deviceId, organizationId }, seenAtMs + 60_000)
  vi.setSystemTime(seenAtMs + 71_000)
  await presence.flush()
  const { rows } = await pool.query('SELECT DISTINCT last_seen_at FROM device WHERE organization_id = $1', [
    organizationId,
  ])
  expect(rows).toEqual([{ last_seen_at: new Date(seenAtMs + 60_000) }])
  vi.useRealTimers()
})
