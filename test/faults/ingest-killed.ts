import { setTimeout as delay } from 'node:timers/promises'
import type { Fault } from './fault.ts'
import { startReportLoad } from './report-load.ts'
import { openScene } from './scene.ts'

/** Kills ingest at random times under load. Each report with 202 must be in QuestDB exactly once, and restarts must be fast. */
export const ingestKilled: Fault = {
  name: 'ingest-killed',
  async run({ quick }) {
    const rounds = quick ? 10 : 20
    const scene = await openScene(40)
    try {
      const load = startReportLoad(scene.ingest.url, scene.devices)
      let slowestMs = 0
      for (let round = 0; round < rounds; round++) {
        await delay(300 + Math.random() * 1_200)
        await scene.ingest.end('SIGKILL')
        const killedMs = Date.now()
        await scene.startIngest()
        slowestMs = Math.max(slowestMs, Date.now() - killedMs)
      }
      await load.finish()
      return [
        { what: 'killed under load', held: load.repeats() > 0, detail: `${rounds} times, ${load.repeats()} repeats` },
        { what: 'accepts again within 15 s', held: slowestMs < 15_000, detail: `${slowestMs} ms at most` },
        {
          what: 'only 202, 429 and 503',
          held: load.unexpected().length === 0,
          detail: `${load.unexpected()[0] ?? 'yes'}`,
        },
        ...(await scene.verify(load.accepted())),
      ]
    } finally {
      await scene.close()
    }
  },
}
