import { type Bystander, startBystander } from './bystander.ts'
import { attempt } from './http-attempt.ts'
import { appNames } from './running-apps.ts'
import { openTarget, type Target, type TargetOptions } from './target.ts'

/** A target with its bystander. */
export type Session = {
  target: Target
  bystander: Bystander
  /** Samples of attackers that the service accepted since the target was opened. */
  acknowledged: number
  pids(): Record<string, number>
  close(): Promise<void>
}

/** More memory than an idle app needs after its warm-up. */
const grownMib = 350
const warmUpReports = 200
const warmUpLists = 300

/** Opens a target, warms it up so that its first use does not count as memory growth, and starts the bystander. */
export async function openSession(options: TargetOptions, signal: AbortSignal): Promise<Session> {
  const target = await openTarget(options, signal)
  const pids = () => ({
    ...target.apps.pids(),
    postgres: target.engines.postgres.pid,
    questdb: target.engines.questdb.pid,
  })
  try {
    const session = { target, acknowledged: await warmUp(target), pids }
    const { organizationId, viewerKey, devices } = target.bystander
    const [device] = devices
    if (device === undefined) throw new Error('The bystander has no device.')
    const bystander = await startBystander({
      url: target.url,
      ingestUrl: target.ingestUrl,
      organizationId,
      apiKey: viewerKey,
      device,
      pids: pids(),
    })
    // Measure a new process from its start, when it reads back the data of its predecessor.
    target.apps.onRestarted(() => void bystander.follow(pids()).catch(() => {}))
    return {
      ...session,
      bystander,
      async close() {
        await bystander.close()
        await target.close()
      },
    }
  } catch (error) {
    await target.close()
    throw error
  }
}

/**
 * Restarts apps with a large heap after earlier attacks, because growth within that heap would not be visible.
 */
export async function restartGrown({ bystander, target }: Session): Promise<void> {
  await bystander.begin()
  const { memory } = await bystander.figures()
  for (const name of appNames) {
    if ((memory[name]?.beforeMib ?? 0) > grownMib) await target.apps.restart(name, 'SIGTERM')
  }
}

/** Sends a few requests to the service. Returns the number of stored samples. */
async function warmUp({ url, bystander }: Target): Promise<number> {
  const { organizationId, viewerKey, devices } = bystander
  let accepted = 0
  for (let index = 0; index < warmUpReports; index++) {
    const device = devices[1 + (index % (devices.length - 1))]
    const samples = Array.from({ length: 20 }, (_, second) => ({
      kind: 'cellular',
      ts: Date.now() - (index * 20 + second) * 1_000,
      rat: 'lte',
      rsrpDbm: -90,
    }))
    const { status } = await attempt({
      url: `${url}/telemetry`,
      method: 'POST',
      headers: { authorization: `Bearer ${device?.token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ samples }),
      timeoutMs: 30_000,
    })
    if (status === 202) accepted += samples.length
  }
  for (let index = 0; index < warmUpLists; index++) {
    const headers = { authorization: `Bearer ${viewerKey}` }
    await attempt({ url: `${url}/devices?orgId=${organizationId}`, headers, timeoutMs: 30_000 })
  }
  return accepted
}
