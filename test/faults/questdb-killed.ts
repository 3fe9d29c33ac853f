import { setTimeout as delay } from 'node:timers/promises'
import type { Fault } from './fault.ts'
import { startReportLoad } from './report-load.ts'
import { openScene } from './scene.ts'

/** Kills and stops QuestDB under load. Ingest continues to accept, and all samples arrive after QuestDB is back. */
export const questdbKilled: Fault = {
  name: 'questdb-killed',
  async run({ quick }) {
    const scene = await openScene(20)
    try {
      const load = startReportLoad(scene.ingest.url, scene.devices)
      const grownWhileAway: number[] = []
      for (let round = 0; round < 3; round++) {
        await delay(1_000 + Math.random() * 1_500)
        process.kill(scene.questdb.pid, 'SIGKILL')
        await scene.questdb.exited
        const before = load.accepted()
        await delay(round === 0 && !quick ? 60_000 : 1_500)
        grownWhileAway.push(load.accepted() - before)
        await scene.startQuestdb()
      }
      process.kill(scene.questdb.pid, 'SIGSTOP')
      const before = load.accepted()
      await delay(quick ? 4_000 : 70_000)
      grownWhileAway.push(load.accepted() - before)
      process.kill(scene.questdb.pid, 'SIGCONT')
      await delay(1_000)
      await load.finish()
      return [
        {
          what: 'accepts while QuestDB is down',
          held: grownWhileAway.every((samples) => samples > 0),
          detail: `${grownWhileAway.join(', ')} samples`,
        },
        { what: 'only 202', held: load.unexpected().length === 0, detail: `${load.unexpected()[0] ?? 'yes'}` },
        ...(await scene.verify(load.accepted())),
      ]
    } finally {
      await scene.close()
    }
  },
}
