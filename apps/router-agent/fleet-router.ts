import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Clock } from '#core/clock'
import { createAgent } from './agent.ts'
import type { EdgeClient } from './edge-client.ts'
import type { Log } from './log.ts'
import { openSampleBuffer } from './sample-buffer.ts'
import { openStateFile } from './state-file.ts'
import { numberBetween } from './world/noise.ts'
import type { RouterSpec } from './world/roster.ts'
import { createSimulatedRouter } from './world/simulated-router.ts'

type FleetRouterOptions = {
  spec: RouterSpec
  folder: string
  connect: (signal: AbortSignal) => EdgeClient
  enrollmentKey: string | undefined
  /** From when on this router has samples to tell, for its first boot. */
  historyFromMs: number
  reportEveryMs: number
  clock: Clock
  log: Log
  signal: AbortSignal
}

/**
 * Runs one simulated router until `signal`: the same agent as on a real one, over a simulated modem, receiver and boot.
 * A reboot job stops it, keeps it dark for its boot time, and starts it again from its state folder.
 */
export async function runFleetRouter(options: FleetRouterOptions): Promise<void> {
  const { spec, clock, signal, log } = options
  const folder = join(options.folder, spec.serial)
  const state = await openStateFile(folder, spec.firmware)
  const bootMs = numberBetween(12_000, 35_000, spec.seed, 50)
  let fromMs = options.historyFromMs

  while (!signal.aborted) {
    const bootedAtMs = clock()
    const rebootReason = state.read().restartReason
    if (rebootReason !== undefined) await state.update({ restartReason: undefined })
    const agent = createAgent({
      connect: options.connect,
      enrollment:
        options.enrollmentKey === undefined
          ? undefined
          : { enrollmentKey: options.enrollmentKey, serial: spec.serial, model: spec.model, name: spec.name },
      folder,
      state,
      buffer: await openSampleBuffer(join(folder, 'buffer')),
      source: createSimulatedRouter(spec, {
        fromMs,
        bootedAtMs,
        rebootReason,
        firmware: () => state.read().firmware,
      }),
      clock,
      random: Math.random,
      log,
      bootedAtMs,
      reportEveryMs: options.reportEveryMs,
      longPollSeconds: 0,
    })
    signal.addEventListener('abort', agent.stop, { once: true })
    const end = await agent.run()
    signal.removeEventListener('abort', agent.stop)
    if (end.kind !== 'restart') return
    log('rebooting', { reason: end.reason, bootMs: Math.round(bootMs) })
    await delay(bootMs, undefined, { signal }).catch(() => undefined)
    fromMs = clock()
  }
}
