import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'
import { flood } from '../telemetry-flood.ts'

const fixesPerReport = 1_000
const hourMs = 60 * 60 * 1_000
const dayMs = 24 * hourMs

/** The times of the late samples of a device. `number` counts its reports. */
const orders: readonly ((nowMs: number, number: number, index: number) => number)[] = [
  // Backwards by hours, each hour in order.
  (nowMs, number, index) => nowMs - (number + 1) * hourMs + index * 3_500,
  // Shuffled over six hours.
  (nowMs, number, index) => nowMs - Math.floor((((number * fixesPerReport + index) * 0.6180339887) % 1) * 6 * hourMs),
  // Distributed over 89 days.
  (nowMs, number, index) => nowMs - Math.floor((((number * fixesPerReport + index) * 0.7548776662) % 1) * 89 * dayMs),
  // Between two stored fixes.
  (nowMs, number, index) => nowMs - 5 * hourMs + index * 1_000 + number,
]

/** Devices send samples long after they were taken, in different orders. */
export const lateFixes: Attack = {
  name: 'late-fixes',
  about: '1,000 late fixes and RF samples in every report: backwards by the hour, shuffled, distributed over 89 days',
  async run({ url, attacker }, { quick, signal }) {
    const client = openAttackerClient(signal)
    const nowMs = Date.now()
    // Use devices without data of other attacks in the same hours.
    const devices = attacker.devices.slice(10, 18)
    try {
      const acceptedSamples = await flood({
        client,
        url,
        devices,
        durationMs: quick ? 6_000 : 120_000,
        inFlight: 2,
        signal,
        next(device, number) {
          const tsOf = orders[device % orders.length] ?? (() => nowMs)
          const samples = Array.from({ length: fixesPerReport }, (_, index) => {
            // Each sample has its own millisecond, so that none replaces another.
            const ts = tsOf(nowMs, number, index)
            if (index % 4 === 3) return { kind: 'cellular', ts, rat: 'lte', rsrpDbm: -90 }
            return { kind: 'location', ts, lat: 51.9 + (index % 50) * 1e-5, lon: -8.4 + (ts % 997) * 1e-5, fix: '3d' }
          })
          return { body: JSON.stringify({ samples }) }
        },
      })
      return { answers: client.answers, acceptedSamples }
    } finally {
      client.close()
    }
  },
}
