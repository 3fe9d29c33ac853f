import { setTimeout as delay } from 'node:timers/promises'
import { until } from '#test/until'
import { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts'
import type { Fault } from './fault.ts'
import { startReportLoad } from './report-load.ts'
import { openScene } from './scene.ts'

/** Bad links between the routers and ingest, and between the writer and QuestDB. */
export const linksCut: Fault = {
  name: 'links-cut',
  async run({ quick }) {
    let toQuestdb: CuttingProxy | undefined
    const scene = await openScene(20, async (place) => {
      const { hostname, port } = new URL(place.questdb.httpUrl)
      toQuestdb = await startCuttingProxy({ host: hostname, port: Number(port) })
      return { ...place, questdb: { ...place.questdb, httpUrl: `http://127.0.0.1:${toQuestdb.port}` } }
    })
    const toIngest = await startCuttingProxy({ host: '127.0.0.1', port: scene.place.port })
    try {
      const load = startReportLoad(`http://127.0.0.1:${toIngest.port}`, scene.devices)
      await delay(quick ? 8_000 : 60_000)
      const areCut = () => toIngest.cuts() > 10 && (toQuestdb?.cuts() ?? 0) > 0
      // On a slow machine, rows may have been sent to QuestDB only a few times.
      await until('both links were cut', async () => areCut(), 60_000).catch(() => undefined)
      toIngest.setHostile(false)
      toQuestdb?.setHostile(false)
      await load.finish()
      return [
        {
          what: 'links were cut',
          held: areCut(),
          detail: `${toIngest.cuts()} to ingest, ${toQuestdb?.cuts()} to QuestDB`,
        },
        { what: 'only 202', held: load.unexpected().length === 0, detail: `${load.unexpected()[0] ?? 'yes'}` },
        ...(await scene.verify(load.accepted())),
      ]
    } finally {
      toIngest.close()
      await scene.close()
      toQuestdb?.close()
    }
  },
}
