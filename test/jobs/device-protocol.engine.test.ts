import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createEnrollmentKey } from '#fleet/devices/credentials/enrollment-keys'
import { createDeviceJob } from '#fleet/jobs/device-job'
import { getJob } from '#fleet/jobs/read'
import { childEnvironment } from '#test/child-environment'
import { createJobFleet } from '#test/job-fleet'
import { type JobService, startJobService } from '#test/job-service'
import { until } from '#test/until'

let service: JobService
let folder: string
beforeAll(async () => {
  service = await startJobService()
  folder = await mkdtemp(join(tmpdir(), 'routerfleet-shell-'))
})
afterAll(async () => {
  await service.close()
  await rm(folder, { recursive: true, force: true })
})

test('the shell client of docs/device-protocol.md enrolls, reports, takes a reboot and confirms it', async () => {
  const page = await readFile('docs/device-protocol.md', 'utf8')
  const script = /```sh\n([\s\S]*?)```/.exec(page)?.[1]
  if (!script) throw new Error('The page has no script.')
  const file = join(folder, 'client.sh')
  await writeFile(file, script)

  const { ctx, organizationId } = await createJobFleet(service.pool, 0)
  const { key } = await createEnrollmentKey(ctx, { organizationId, name: 'Shell', autoCreate: true })
  const state = join(folder, 'state')
  const boot = () =>
    spawn('sh', [file], {
      stdio: 'ignore',
      env: {
        ...childEnvironment,
        BASE_URL: service.ingest.url,
        ENROLLMENT_KEY: key,
        SERIAL: 'SHELL-1',
        MODEL: 'RX400',
        STATE: state,
        REBOOT: 'true',
      },
      detached: true,
    })
  const client = boot()
  const restarted = once(client, 'exit')
  const device = await until('the router is online', async () => {
    const { rows } = await service.pool.query<{ id: string; status: string }>(
      `SELECT id, status FROM device WHERE organization_id = $1 AND serial = 'SHELL-1'`,
      [organizationId],
    )
    return rows[0]?.status === 'online' && rows[0]
  })
  expect((await stat(join(state, 'token'))).mode & 0o077).toBe(0)

  const job = await createDeviceJob(ctx, { deviceId: device.id, kind: 'reboot' })
  expect(await restarted).toEqual([0, null])
  const again = boot()
  const confirmed = await until('the reboot is confirmed', async () => {
    const now = await getJob(ctx, { organizationId, jobId: job.id })
    return now.status === 'succeeded' && now
  })
  if (again.pid) process.kill(-again.pid)
  expect(confirmed).toMatchObject({ attempt: 1, result: 'Restarted.' })
  expect(confirmed.history.map(({ status }) => status)).toEqual(['queued', 'dispatched', 'inProgress', 'succeeded'])
})
