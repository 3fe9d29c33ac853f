import { setTimeout as delay } from 'node:timers/promises'
import { openPool } from '#postgres/pool'
import { newReportingDevices } from '#test/reporting-device'
import { until } from '#test/until'
import type { Fault } from './fault.ts'
import { startReportLoad } from './report-load.ts'
import { openScene } from './scene.ts'
import { sendReport } from './send-report.ts'

/** Kills Postgres. Known devices continue to report, unknown devices are told to retry, and all parts recover. */
export const postgresAway: Fault = {
  name: 'postgres-away',
  async run() {
    const scene = await openScene(20)
    try {
      const pool = openPool(scene.postgres.url, { applicationName: 'faults' })
      const [late] = await newReportingDevices(pool, scene.devices[0]?.organizationId ?? '', 1)
      await pool.end()
      const reportOnce = (token: string | undefined) =>
        sendReport(scene.ingest.url, token, { samples: [{ kind: 'connection', state: 'connected' }] })

      const load = startReportLoad(scene.ingest.url, scene.devices)
      await until('every device is known', async () => load.accepted() > 20 * 30 * 5)
      process.kill(scene.postgres.pid, 'SIGKILL')
      await scene.postgres.exited
      const before = load.accepted()
      await delay(3_000)
      const grown = load.accepted() - before
      const stranger = await reportOnce(late?.token)
      const unexpected = [...load.unexpected()]
      await scene.startPostgres()
      await until('the late device is let in', async () => (await reportOnce(late?.token)) === 202, 10_000)
      const healed = openPool(scene.postgres.url, { applicationName: 'faults' })
      await healed.query("UPDATE device SET status = 'disabled' WHERE id = $1", [late?.id])
      const disabledMs = Date.now()
      await until('notices are heard again', async () => (await reportOnce(late?.token)) === 403, 10_000)
      const heardMs = Date.now() - disabledMs
      await healed.end()
      await load.finish()
      const accepted = load.accepted()
      return [
        { what: 'known devices continue to report', held: grown > 0, detail: `${grown} samples in 3 s` },
        { what: 'unknown tokens are told to retry', held: stranger === 503, detail: String(stranger) },
        { what: 'no other request is refused', held: unexpected.length === 0, detail: unexpected[0] ?? 'yes' },
        { what: 'a revocation takes effect within 5 s', held: heardMs < 5_000, detail: `${heardMs} ms` },
        { what: 'all reports are accepted again', held: accepted > before + grown, detail: `${accepted} samples` },
      ]
    } finally {
      await scene.close()
    }
  },
}
