import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'
import { flood } from '../telemetry-flood.ts'

const fixesPerReport = 1_000
const startBeforeMs = 20 * 60 * 60 * 1_000

/**
 * Fixes within 40 m of one place, none like another. At 20 ms apart a stay needs 15,000 of them before it lasts five
 * minutes, so all of them stay pending; at 1 s apart they are one dwell that never ends.
 */
function fixes(number: number, startMs: number, everyMs: number): object[] {
  return Array.from({ length: fixesPerReport }, (_, index) => {
    const position = number * fixesPerReport + index
    return {
      kind: 'location',
      ts: startMs + position * everyMs,
      lat: 51.9 + (position % 397) * 9e-7,
      lon: -8.47 + (position % 401) * 9e-7,
      fix: '3d',
      accuracyM: 5,
      speedMps: 0,
    }
  })
}

/** Devices that report a thousand different fixes in one place with every request they may send. */
export const fixesInOnePlace: Attack = {
  name: 'fixes-in-one-place',
  about: '1,000 fixes within 40 m in every report, as often as ten devices may send',
  async run({ url, attacker }, { quick, signal }) {
    const client = openAttackerClient(signal)
    const startMs = Date.now() - startBeforeMs
    try {
      const acceptedSamples = await flood({
        client,
        url,
        devices: attacker.devices.slice(0, 10),
        durationMs: quick ? 12_000 : 120_000,
        inFlight: 4,
        signal,
        next: (device, number) => ({
          body: JSON.stringify({ samples: fixes(number, startMs, device % 2 === 0 ? 20 : 1_000) }),
        }),
      })
      return { answers: client.answers, acceptedSamples }
    } finally {
      client.close()
    }
  },
}
