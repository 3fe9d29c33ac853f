import { setTimeout as pause } from 'node:timers/promises'
import type { MillionFleet } from './million-fleet.ts'
import { startPacedCalls } from './paced-calls.ts'
import type { Figure } from './report.ts'
import type { ServedApi } from './served-api.ts'
import type { BenchStack } from './stack.ts'
import { median, percentile } from './statistics.ts'

/** Below the rate limit of the key. */
const callEveryMs = 25
const pollMs = 250
const dispatchLimitMs = 360_000

/** A reboot of all devices, during other calls. A worker process must run. */
export async function groupJobFigures(
  stack: BenchStack,
  api: ServedApi,
  fleet: MillionFleet,
  beforeMs: number,
): Promise<Figure[]> {
  const { organizationId, deviceIds } = fleet
  const paths = [
    (turn: number) => `/devices/${deviceIds[(turn * 7919) % deviceIds.length]}`,
    () => `/devices?orgId=${organizationId}&limit=50`,
    () => `/orgs/${organizationId}/job-batches`,
  ]
  let turn = 0
  let failed = 0
  const others = async () => {
    turn += 1
    await api.get(paths[turn % paths.length]?.(turn) ?? '').catch(() => {
      failed += 1
    })
  }
  const idle = startPacedCalls(others, callEveryMs)
  await pause(beforeMs)
  const idleMs = await idle.stop()

  const during = startPacedCalls(others, callEveryMs)
  const { total, postMs, dispatchedMs } = await reboot(stack, api, fleet).finally(() => during.stop())
  const duringMs = await during.stop()
  const seconds = (ms: number) => `${(ms / 1_000).toFixed(1)} s`
  const name = `reboot of ${total.toLocaleString('en')} devices`
  return [
    { name: `${name}: POST`, value: seconds(postMs), target: '< 6 s' },
    { name: `${name}: all dispatched`, value: seconds(dispatchedMs), target: '< 90 s' },
    {
      name: `${name}: other calls meanwhile`,
      value: `p50 ${median(duringMs).toFixed(1)} ms, p99 ${percentile(duringMs, 99).toFixed(1)} ms of ${duringMs.length}; before p50 ${median(idleMs).toFixed(1)} ms, p99 ${percentile(idleMs, 99).toFixed(1)} ms of ${idleMs.length}`,
      ratio: `p99 ${(percentile(duringMs, 99) / percentile(idleMs, 99)).toFixed(1)} ×`,
      target: 'p99 ≤ 2 ×',
    },
    { name: `${name}: other calls that failed`, value: String(failed), target: '0' },
  ]
}

/** Asks for a reboot of the group and waits until all jobs are dispatched. */
async function reboot(stack: BenchStack, api: ServedApi, fleet: MillionFleet) {
  const startMs = performance.now()
  const path = `/orgs/${fleet.organizationId}/groups/${fleet.groupId}/jobs`
  const { bytes } = await api.post(path, { kind: 'reboot' })
  const postMs = performance.now() - startMs
  const { id, total } = JSON.parse(String(bytes)) as { id: string; total: number }
  if (total !== fleet.deviceIds.length) throw new Error(`The batch has ${total} jobs.`)
  const dispatchedOf = async () => {
    const { rows } = await stack.pool.query<{ dispatched: number }>('SELECT dispatched FROM job_batch WHERE id = $1', [
      id,
    ])
    return rows[0]?.dispatched ?? 0
  }
  while ((await dispatchedOf()) < total) {
    if (performance.now() - startMs > dispatchLimitMs)
      throw new Error(`Only ${await dispatchedOf()} of ${total} jobs were dispatched.`)
    await pause(pollMs)
  }
  return { total, postMs, dispatchedMs: performance.now() - startMs }
}
