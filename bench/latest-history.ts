import { performance } from 'node:perf_hooks'
import { kinds } from '#telemetry/report/fields'
import type { Bench, Figure } from './report.ts'
import { type SeededFleet, seedDeviceTable, seeded, seedMinute, seedRegistry } from './seed-telemetry.ts'
import { type ServedApi, serveApi } from './served-api.ts'
import { type BenchStack, withBenchStack } from './stack.ts'
import { median, percentile } from './statistics.ts'
import { startIngestLoad } from './steady-load.ts'

const minuteMs = 60_000

/** Latest telemetry and history of one device over HTTP, compared with plain SQL. */
export const latestHistory: Bench = {
  name: 'latest-history',
  about:
    'A device’s latest telemetry and history over HTTP while ingest accepts reports, compared with plain SQL for the same rows with pg. The SQL alone checks no permissions and sends no response.',
  run: ({ quick, devices, minutes }) =>
    withBenchStack(async (stack) => {
      const usual = quick
        ? { devices: 2_000, minutes: 5, samplesPerSecond: 1_000 }
        : { devices: 100_000, minutes: 15, samplesPerSecond: 10_000 }
      const size = { ...usual, devices: devices ?? usual.devices, minutes: minutes ?? usual.minutes }
      const fleet = await seedRegistry(stack, size.devices)
      await seedDeviceTable(stack, fleet)
      for (let ago = size.minutes; ago >= 1; ago--) await seedMinute(stack.questdb, fleet, Date.now() - ago * minuteMs)
      const busy = await seedBusyDevice(stack, fleet)
      await seeded(stack.questdb)
      const load = await startIngestLoad(stack, size.samplesPerSecond)
      const api = await serveApi(stack, load.ingest.port)
      try {
        const rounds = quick ? 100 : 1_000
        return [
          await latest(stack, api, fleet, rounds),
          await history(stack, api, fleet, busy, rounds),
          { name: 'ingest meanwhile', value: `${size.samplesPerSecond} samples/s, ${load.refused()} reports refused` },
        ]
      } finally {
        await api.close()
        await load.stop()
      }
    }),
}

/** A device that reports every second, for histories of a thousand rows. */
async function seedBusyDevice({ questdb }: BenchStack, fleet: SeededFleet): Promise<string> {
  const deviceId = String(fleet.deviceIds[0])
  const startMs = Date.now() - 50 * minuteMs
  await questdb.query(
    `INSERT INTO cellular (ts, device_id, org_id, received_at, ts_corrected, rat, plmn, rsrp_dbm, sinr_db, alignment)
     SELECT dateadd('s', x::int, '${new Date(startMs).toISOString()}'::timestamp), '${deviceId}', '${fleet.organizationId}',
       '${new Date().toISOString()}'::timestamp, false, 'lte', '27201', -100.0, 5.0, 'none' FROM long_sequence(2400)`,
  )
  return deviceId
}

// Not LATEST ON with a bound id: concurrent workers crash QuestDB 9.3.4 with it (SIGSEGV).
async function latest({ questdb }: BenchStack, api: ServedApi, fleet: SeededFleet, rounds: number): Promise<Figure> {
  const bare = async (deviceId: string) => {
    await Promise.all(
      kinds.map((kind) =>
        questdb.query(`SELECT * FROM ${kind} WHERE device_id = $1 ORDER BY ts DESC LIMIT 1`, [deviceId]),
      ),
    )
  }
  const served = (deviceId: string) => api.get(`/api/router/${deviceId}/telemetry/latest`)
  const deviceOf = (round: number) => String(fleet.deviceIds[(round * 7919) % fleet.deviceIds.length])
  return figure('latest, one of all devices', rounds, deviceOf, served, bare, 'p99 < 20 ms, p50 ≤ 1.5 ×')
}

function history(stack: BenchStack, api: ServedApi, fleet: SeededFleet, busy: string, rounds: number): Promise<Figure> {
  const bare = async (deviceId: string) => {
    await stack.questdb.query(
      `SELECT * FROM cellular WHERE device_id = $1 AND org_id = $2 AND ts >= $3 ORDER BY ts DESC LIMIT 1000`,
      [deviceId, fleet.organizationId, new Date(Date.now() - 60 * minuteMs).toISOString()],
    )
  }
  const served = (deviceId: string) => api.get(`/api/router/${deviceId}/telemetry/history?kind=cellular&limit=1000`)
  return figure('history, 1000 rows', rounds, () => busy, served, bare, 'p99 < 30 ms, p50 ≤ 1.5 ×')
}

async function figure(
  name: string,
  rounds: number,
  deviceOf: (round: number) => string,
  served: (deviceId: string) => Promise<unknown>,
  bare: (deviceId: string) => Promise<void>,
  target: string,
): Promise<Figure> {
  const times: { served: number[]; bare: number[] } = { served: [], bare: [] }
  const warmUps = 20
  for (let round = 0; round < warmUps + rounds; round++) {
    const one = await timed(() => served(deviceOf(round)))
    const other = await timed(() => bare(deviceOf(round)))
    if (round < warmUps) continue
    times.served.push(one)
    times.bare.push(other)
  }
  const show = (values: number[]) => `p50 ${median(values).toFixed(1)} ms, p99 ${percentile(values, 99).toFixed(1)} ms`
  return {
    name,
    value: `${show(times.served)}; bare ${show(times.bare)}`,
    ratio: `p50 ${(median(times.served) / median(times.bare)).toFixed(1)} ×`,
    target,
  }
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startMs = performance.now()
  await work()
  return performance.now() - startMs
}
