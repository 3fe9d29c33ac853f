import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createJobFleet, issueTestTokens } from '#test/job-fleet'
import { until } from '#test/until'
import type { Finding } from '../fault.ts'
import { countJobEnds } from '../job-ends.ts'
import { type Client, createClient } from './client.ts'
import type { ClusterScene } from './scene.ts'

type GroupJobs = {
  /** Batches that were created. */
  created(): number
  /** Creates no more batches. Waits for the end of all jobs and checks that each ended once. */
  finish(): Promise<Finding[]>
}

const routers = 8
/** Long enough that some jobs run at the time of a failure. */
const jobMs = 1_000
const endLimitMs = 240_000

/** An operator who creates one group job after the other, and the routers that run them. */
export async function startGroupJobs(scene: ClusterScene, operator: Client): Promise<GroupJobs> {
  const { organizationId, groupId, deviceIds } = await createJobFleet(scene.pool, routers)
  const tokens = await issueTestTokens(scene.pool, organizationId, deviceIds)
  const batchIds: string[] = []
  let isFinishing = false
  let isStopped = false

  const hasEnded = async (id: string) => {
    const answer = await operator.call('GET', `/orgs/${organizationId}/job-batches/${id}`)
    return answer?.status === 200 && (answer.body as { status: string }).status === 'finished'
  }

  async function createBatches(): Promise<void> {
    while (!isFinishing) {
      const headers = { 'idempotency-key': randomUUID() }
      const options = { json: { kind: 'speed_test' }, headers }
      const answer = await operator.callUntil([202], 'POST', `/orgs/${organizationId}/groups/${groupId}/jobs`, options)
      const { id } = answer.body as { id: string }
      batchIds.push(id)
      while (!(isFinishing || (await hasEnded(id)))) await delay(500)
    }
  }

  const routersRunning = tokens.map((token) => runJobs(createClient(scene.baseUrl, token), () => isStopped))
  const creating = createBatches()
  const working = Promise.all(routersRunning)
  // `finish` reports a failure.
  Promise.all([creating, working]).catch(() => undefined)
  return {
    created: () => batchIds.length,
    async finish() {
      isFinishing = true
      await creating
      for (const id of batchIds) await until(`the jobs of ${id} end`, () => hasEnded(id), endLimitMs)
      isStopped = true
      await working
      const total = batchIds.length * routers
      const { ended, endedOnce } = await countJobEnds(scene.pool, batchIds)
      const { 'job.finished': announced = 0 } = await scene.eventsOf(organizationId)
      const { rows } = await scene.pool.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM job WHERE batch_id = ANY($1::uuid[]) AND status = 'succeeded'`,
        [batchIds],
      )
      const succeeded = rows[0]?.count ?? 0
      return [
        { what: 'every job succeeded', held: succeeded === total, detail: `${succeeded} of ${total}` },
        {
          what: 'every job ended once',
          held: ended === total && endedOnce === total,
          detail: `${endedOnce} of ${total}`,
        },
        { what: 'every end was announced once', held: announced === total, detail: `${announced} events` },
      ]
    },
  }
}

/** A router that waits for jobs and reports that they succeeded. It repeats a report until it has a response. */
async function runJobs(router: Client, isStopped: () => boolean): Promise<void> {
  while (!isStopped()) {
    const taken = await router.call('GET', '/device/jobs/next?waitSeconds=3')
    if (taken?.status !== 200) {
      await delay(taken?.status === 204 ? 0 : 500)
      continue
    }
    const { id, attempt } = taken.body as { id: string; attempt: number }
    await delay(jobMs)
    // 409: the job has ended, because an earlier request arrived and its response was lost.
    await router.callUntil([200, 409], 'POST', `/device/jobs/${id}/status`, { json: { attempt, status: 'succeeded' } })
  }
}
