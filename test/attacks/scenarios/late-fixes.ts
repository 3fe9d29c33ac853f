import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'
import { flood } from '../telemetry-flood.ts'

const fixesPerReport = 1_000
const hourMs = 60 * 60 * 1_000
const dayMs = 24 * hourMs

/** How a device's late samples lie in time: `number` counts its reports. */
const orders: readonly ((nowMs: number, number: number, index: number) => number)[] = [
  // Hour by hour backwards, each in order.
  (nowMs, number, index) => nowMs - (number + 1) * hourMs + index * 3_500,
  // Shuffled over six hours.
  (nowMs, number, index) => nowMs - Math.floor((((number * fixesPerReport + index) * 0.6180339887) % 1) * 6 * hourMs),
  // Strewn over 89 days.
  (nowMs, number, index) => nowMs - Math.floor((((number * fixesPerReport + index) * 0.7548776662) % 1) * 89 * dayMs),
  // Between two fixes that are stored already.
  (nowMs, number, index) => nowMs - 5 * hourMs + index * 1_000 + number,
]

/** Devices whose samples arrive long after they were taken, in any order. */
export const lateFixes: Attack = {
  name: 'late-fixes',
  about: '1,000 late fixes and RF samples in every report: backwards by the hour, shuffled, strewn over 89 days',
  async run({ url, attacker }, { quick, signal }) {
    const client = openAttackerClient(signal)
    const nowMs = Date.now()
    // Devices that no other attack has given a past in the same hours.
    const devices = attacker.devices.slice(10, 18)
    try {
      const acceptedSamples = await flood({
        client,
        url,
        devices,
        durationMs: quick ? 12_000 : 120_000,
        inFlight: 2,
        signal,
        next(device, number) {
          const tsOf = orders[device % orders.length] ?? (() => nowMs)
          const samples = Array.from({ length: fixesPerReport }, (_, index) => {
            // A whole millisecond of its own for every sample, so that none replaces another.
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
