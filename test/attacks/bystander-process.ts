import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { ProbeName } from './attack.ts'
import type { BystanderPlace, Figures, Order, OrderMessage, ReplyMessage } from './bystander-messages.ts'
import { watchMachineLoad } from './machine-load.ts'
import { type MemoryWatch, watchMemory } from './memory-watch.ts'
import { type Probe, startProbe } from './probe.ts'
import { startReference } from './reference.ts'
import { type Reports, startReports } from './reports.ts'

/** The clients in the bystander's process for one service. */
type Watch = {
  probes: Record<Exclude<ProbeName, 'reportQueryable'>, Probe>
  reference: Probe
  reports: Reports
  memory: MemoryWatch
}

const loopDelay = monitorEventLoopDelay({ resolution: 10 })
loopDelay.enable()
// The process tree of the harness, with the service and all engines.
const machineLoad = watchMachineLoad(process.ppid)

async function startWatch(place: BystanderPlace): Promise<Watch> {
  const reference = await startReference()
  const authorization = `Bearer ${place.apiKey}`
  const livez = (url: string) => startProbe({ url: `${url}/livez`, everyMs: 100 })
  return {
    probes: {
      controlPlaneLivez: livez(place.url),
      ingestLivez: livez(place.ingestUrl),
      deviceList: startProbe({
        url: `${place.url}/devices?orgId=${place.organizationId}&limit=20`,
        everyMs: 250,
        headers: { authorization },
        keepAlive: true,
      }),
      deviceRead: startProbe({
        url: `${place.url}/devices/${place.device.id}`,
        everyMs: 250,
        headers: { authorization },
        keepAlive: true,
      }),
      nextJob: startProbe({
        url: `${place.url}/device/jobs/next?waitSeconds=0`,
        everyMs: 1_000,
        headers: { authorization: `Bearer ${place.device.token}` },
        expected: 204,
        keepAlive: true,
      }),
    },
    reference: livez(reference.url),
    reports: startReports({ url: place.url, authorization, device: place.device }),
    memory: watchMemory(place.pids),
  }
}

function begin({ probes, reference, reports, memory }: Watch): void {
  for (const probe of [...Object.values(probes), reference]) probe.reset()
  reports.reset()
  memory.reset()
  loopDelay.reset()
  machineLoad.reset()
}

function figures({ probes, reference, reports, memory }: Watch): Figures {
  return {
    waits: {
      controlPlaneLivez: probes.controlPlaneLivez.wait(),
      ingestLivez: probes.ingestLivez.wait(),
      deviceList: probes.deviceList.wait(),
      deviceRead: probes.deviceRead.wait(),
      nextJob: probes.nextJob.wait(),
      reportQueryable: reports.wait(),
    },
    stallMs: Math.max(reference.wait().longestMs, loopDelay.max / 1e6),
    othersShare: machineLoad.othersShare(),
    memory: memory.figures(),
    acceptedSamples: reports.acceptedSamples(),
  }
}

let watch: Watch | undefined

async function obey(order: Order): Promise<Figures | undefined> {
  if (order.kind === 'place') watch = await startWatch(order.place)
  if (watch === undefined) throw new Error('The bystander was not started.')
  if (order.kind === 'begin') begin(watch)
  if (order.kind === 'pids') watch.memory.follow(order.pids)
  if (order.kind === 'finish') await watch.reports.finish()
  if (order.kind === 'figures') return figures(watch)
  if (order.kind === 'drain') {
    const parts = [...Object.values(watch.probes), watch.reports]
    const drained = Promise.all(parts.map((part) => part.drain()))
    await Promise.race([drained, new Promise((resolve) => setTimeout(resolve, order.withinMs))])
  }
  return undefined
}

process.on('message', async ({ number, order }: OrderMessage) => {
  const measured = await obey(order)
  const reply: ReplyMessage = { number, ...(measured && { figures: measured }) }
  process.send?.(reply)
})
process.on('disconnect', () => process.exit(0))
