import { join } from 'node:path'
import type { Dispatcher } from 'undici'
import type { Clock } from '#core/clock'
import { pause } from '#core/schedule'
import { createAgent } from './agent.ts'
import type { EdgeClient } from './edge-client.ts'
import type { Log } from './log.ts'
import { openSampleBuffer } from './sample-buffer.ts'
import { openStateFile } from './state-file.ts'
import { numberBetween } from './world/noise.ts'
import type { RouterSpec } from './world/roster.ts'
import { createSimulatedRouter, type Shift } from './world/simulated-router.ts'

type FleetRouterOptions = {
  spec: RouterSpec
  folder: string
  connect: (signal: AbortSignal) => EdgeClient
  enrollmentKey: string | undefined
  /** The time of the first sample of this router, for its first boot. */
  historyFromMs: number
  /** The shift of the day before, which it reports at its first boot ahead of its history. */
  shift: Shift | undefined
  /** How firmware images are downloaded. */
  images: Dispatcher | undefined
  reportEveryMs: number
  rollBackAfterMs: number
  clock: Clock
  log: Log
  signal: AbortSignal
}

/**
 * Runs one simulated router until `signal` aborts: the agent of a real router with a simulated modem, receiver and boot. A
 * reboot job stops it for its boot time and starts it again from its state folder.
 */
export async function runFleetRouter(options: FleetRouterOptions): Promise<void> {
  const { spec, clock, signal, log } = options
  const folder = join(options.folder, spec.serial)
  const state = await openStateFile(folder, spec.firmware)
  const bootMs = numberBetween(12_000, 35_000, spec.seed, 50)
  let fromMs = options.historyFromMs
  let { shift } = options

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
        shift,
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
      images: options.images,
      rollBackAfterMs: options.rollBackAfterMs,
    })
    // The buffer was opened meanwhile: an agent that misses the end would run on.
    if (signal.aborted) return
    signal.addEventListener('abort', agent.stop, { once: true })
    const end = await agent.run()
    signal.removeEventListener('abort', agent.stop)
    if (end.kind !== 'restart') return
    log('rebooting', { reason: end.reason, bootMs: Math.round(bootMs) })
    await pause(bootMs, signal)
    fromMs = clock()
    shift = undefined
  }
}
