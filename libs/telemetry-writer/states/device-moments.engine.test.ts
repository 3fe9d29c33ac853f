import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { createDeviceJob } from '#fleet/jobs/device-job'
import { createLogger } from '#http/request-log'
import { openPool } from '#postgres/pool'
import type { Quality } from '#telemetry/coverage/quality'
import { createTestDatabase } from '#test/database'
import { createJobFleet } from '#test/job-fleet'
import { createDeviceMoments } from './device-moments.ts'
import type { ReportedMoment } from './reported-moments.ts'

const database = await createTestDatabase()
const pool = openPool(database.url, { applicationName: 'device-moments.test' })
afterAll(async () => {
  await pool.end()
  await database.drop()
})
afterEach(() => {
  vi.useRealTimers()
})

const second = 1_000
const hour = 3_600 * second

const openMoments = () => createDeviceMoments({ pool, logger: createLogger('test', 'silent') })

/** A router, with a job that waits for a good signal and a stop if `waits`. */
async function newRouter({ waits = true } = {}) {
  const { ctx, organizationId, deviceIds } = await createJobFleet(pool, 1)
  const [deviceId = ''] = deviceIds
  const newJob = () =>
    createDeviceJob(ctx, {
      ...{ deviceId, kind: 'reboot' },
      delivery: { when: 'goodSignalAndDwell', minQuality: 'good' },
    })
  if (waits) await newJob()
  return {
    organizationId,
    newJob,
    endJobs: () =>
      pool.query(`UPDATE job SET status = 'succeeded', finished_at = now() WHERE device_id = $1`, [deviceId]),
    told: (signalMs: number | null, dwelling?: boolean, quality: Quality = 'good'): ReportedMoment => ({
      ...{ deviceId, organizationId, dwelling },
      modems:
        signalMs === null
          ? []
          : [{ modem: null, newestMs: signalMs, connectedMs: null, servedMs: signalMs, signalMs, quality }],
    }),
    async stored() {
      const { rows } = await pool.query('SELECT * FROM device_moment WHERE device_id = $1', [deviceId])
      return rows[0] && { signalMs: rows[0].signal_at?.getTime(), dwelling: rows[0].dwelling }
    },
  }
}

test('the newest signal is written before the written one is too old, also of a router that falls silent', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const startMs = Date.now()
  const [router, moments] = [await newRouter(), openMoments()]
  await moments.refresh()
  for (const ageS of [0, 10, 29]) {
    vi.setSystemTime(startMs + ageS * second)
    moments.add([router.told(Date.now())])
    await moments.flush()
  }
  // Few writes while it reports.
  expect((await router.stored())?.signalMs).toBe(startMs)
  vi.setSystemTime(startMs + 61 * second)
  await moments.flush()
  expect((await router.stored())?.signalMs).toBe(startMs + 29 * second)
})

test('an unchanged moment is written again before Postgres deletes it', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const [router, moments] = [await newRouter(), openMoments()]
  await moments.refresh()
  moments.add([router.told(null, true)])
  await moments.flush()
  await pool.query('DELETE FROM device_moment')
  vi.setSystemTime(Date.now() + hour)
  moments.add([router.told(null, true)])
  await moments.flush()
  expect(await router.stored()).toMatchObject({ dwelling: true })
})

test('a moment is forgotten when no job of the device waits', async () => {
  const [router, other, moments] = [await newRouter(), await newRouter(), openMoments()]
  await moments.refresh()
  moments.add([router.told(Date.now(), true), other.told(Date.now(), true)])
  await moments.flush()
  expect([await router.stored(), await other.stored()]).toMatchObject([{ dwelling: true }, { dwelling: true }])
  await router.endJobs()
  // The organization is still awaited, and the router reports.
  moments.add([router.told(Date.now(), false, 'poor')])
  await moments.flush()
  expect(await router.stored()).toBeUndefined()
  // The organization is awaited no more: further reports are not told.
  await other.endJobs()
  await moments.refresh()
  expect(await other.stored()).toBeUndefined()
  await other.newJob()
  await moments.refresh()
  moments.add([other.told(null, false)])
  await moments.flush()
  expect(await other.stored()).toMatchObject({ signalMs: undefined, dwelling: false })
})

test('a moment that an earlier process wrote is forgotten when no job of the organization waits', async () => {
  const [router, other, moments] = [await newRouter(), await newRouter(), openMoments()]
  await moments.refresh()
  moments.add([router.told(Date.now(), true), other.told(Date.now(), true)])
  await moments.flush()
  await router.endJobs()
  await openMoments().refresh()
  expect([await router.stored(), await other.stored()]).toMatchObject([undefined, { dwelling: true }])
})
