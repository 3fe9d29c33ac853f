import { setTimeout as delay } from 'node:timers/promises'
import type { Fault } from './fault.ts'
import { startReportLoad } from './report-load.ts'
import { openScene } from './scene.ts'

/** SIGTERM under load: ingest answers requests in progress, exits with code 0, and loses no accepted report. */
export const stoppedUnderLoad: Fault = {
  name: 'stopped-under-load',
  async run() {
    const scene = await openScene(20)
    try {
      const load = startReportLoad(scene.ingest.url, scene.devices)
      const codes: (number | null)[] = []
      for (let round = 0; round < 3; round++) {
        await delay(1_000)
        codes.push(await scene.ingest.end('SIGTERM'))
        await scene.startIngest()
      }
      await load.finish()
      return [
        { what: 'exits with code 0', held: codes.every((code) => code === 0), detail: codes.join(', ') },
        { what: 'only 202', held: load.unexpected().length === 0, detail: `${load.unexpected()[0] ?? 'yes'}` },
        ...(await scene.verify(load.accepted())),
      ]
    } finally {
      await scene.close()
    }
  },
}
