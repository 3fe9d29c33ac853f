import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createBatch } from '#fleet/jobs/batches/create'
import { getBatch } from '#fleet/jobs/batches/read'
import { migrate } from '#postgres/migrate'
import { type OwnedPool, openPool } from '#postgres/pool'
import { witnessEvents } from '#test/event-witness'
import { createJobFleet, type JobFleet } from '#test/job-fleet'
import { hasRedis, startRedis, type TestRedis } from '#test/redis'
import { type RouterCrowd, startRouterCrowd } from '#test/router-crowd'
import { until } from '#test/until'
import { startWorkerProcess, type WorkerProcess } from '#test/worker-process'
import { type PostgresEngine, startPostgres } from '../../apps/stack/engines/postgres.ts'
import { type Finding, SkipFault } from './fault.ts'
import { countJobEnds } from './job-ends.ts'

export type JobsScene = {
  pool: OwnedPool
  fleet: JobFleet
  batchId: string
  postgres: PostgresEngine
  worker: WorkerProcess
  redis: TestRedis | undefined
  startPostgres(): Promise<void>
  startWorker(): Promise<void>
  /** Waits until this number of jobs of the batch have succeeded. */
  progress(succeeded: number): Promise<void>
  /** Waits for the end of the batch and checks that each job ended exactly once. */
  verify(): Promise<Finding[]>
  close(): Promise<void>
}

type Published = Awaited<ReturnType<typeof witnessEvents>>

/** Starts a batch of reboots for many routers. Each part is a process that can be killed. */
export async function openJobsScene({ devices, redis }: { devices: number; redis: boolean }): Promise<JobsScene> {
  if (redis && !(await hasRedis())) throw new SkipFault('redis-server is not installed.')
  const folder = mkdtempSync(join(tmpdir(), 'routerfleet-jobs-faults-'))
  // If root runs this, Postgres runs as another user, who needs access to this folder.
  chmodSync(folder, 0o711)
  const runPostgres = (port?: number) => startPostgres({ dir: join(folder, 'postgres'), ...(port ? { port } : {}) })
  const postgres = await runPostgres()
  await migrate(postgres.url)
  const queueStore = redis ? await startRedis() : undefined
  const pool = openPool(postgres.url, { applicationName: 'faults' })
  const published = await witnessEvents(pool)
  const fleet = await createJobFleet(pool, devices)
  const runWorker = () => startWorkerProcess({ postgresUrl: postgres.url, redisUrl: queueStore?.url })
  const worker = await runWorker()
  const { ctx, organizationId, groupId } = fleet
  const { id: batchId } = await createBatch(ctx, { organizationId, kind: 'reboot', target: { groupId } })
  const crowd = startRouterCrowd(pool, organizationId, fleet.deviceIds)
  const scene: JobsScene = {
    pool,
    fleet,
    batchId,
    postgres,
    worker,
    redis: queueStore,
    async startPostgres() {
      scene.postgres = await runPostgres(postgres.port)
    },
    async startWorker() {
      scene.worker = await runWorker()
    },
    async progress(succeeded) {
      await until(
        `${succeeded} jobs succeeded`,
        async () => (await getBatch(ctx, { organizationId, batchId })).counts.succeeded >= succeeded,
        120_000,
      )
    },
    verify: () => verify(scene, crowd, published),
    async close() {
      await crowd.stop()
      await scene.worker.end('SIGTERM')
      await pool.end()
      await scene.postgres.stop()
      await queueStore?.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return scene
}

async function verify(scene: JobsScene, crowd: RouterCrowd, published: Published): Promise<Finding[]> {
  const { pool, batchId } = scene
  const { ctx, organizationId, deviceIds } = scene.fleet
  const total = deviceIds.length
  const batch = await until(
    'the batch ends',
    async () => {
      const now = await getBatch(ctx, { organizationId, batchId })
      return now.status === 'finished' && now
    },
    300_000,
  )
  const { ended, endedOnce } = await countJobEnds(pool, [batchId])
  const { 'job.finished': announced = 0, 'job_batch.finished': batchAnnounced = 0 } = await published(organizationId)
  const repeated = [...crowd.effects.values()].filter((times) => times > 1).length
  return [
    { what: 'every job succeeded', held: batch.counts.succeeded === total, detail: JSON.stringify(batch.counts) },
    { what: 'every job ended once', held: ended === total && endedOnce === total, detail: `${endedOnce} of ${total}` },
    { what: 'every end was announced once', held: announced === total, detail: `${announced} events` },
    { what: 'the end of the batch was announced once', held: batchAnnounced === 1, detail: `${batchAnnounced} events` },
    { what: 'no attempt ran twice', held: repeated === 0, detail: `${repeated} repeated` },
    { what: 'no job had two attempts', held: crowd.effects.size === total, detail: `${crowd.effects.size} attempts` },
  ]
}
