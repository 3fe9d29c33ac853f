import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'
import { flood } from '../telemetry-flood.ts'

const fixesPerReport = 1_000
const startBeforeMs = 20 * 60 * 60 * 1_000

/**
 * Returns distinct fixes within 40 m of one place. At intervals of 20 ms, a dwell needs 15,000 fixes to last five minutes, so
 * all of them remain pending. At intervals of 1 s, they form one dwell that does not end.
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

/** Devices send 1,000 distinct fixes in one place with each permitted request. */
export const fixesInOnePlace: Attack = {
  name: 'fixes-in-one-place',
  about: '1,000 fixes within 40 m in every report, from ten devices at their rate limit',
  async run({ url, attacker }, { quick, signal }) {
    const client = openAttackerClient(signal)
    const startMs = Date.now() - startBeforeMs
    try {
      const acceptedSamples = await flood({
        client,
        url,
        devices: attacker.devices.slice(0, 10),
        durationMs: quick ? 6_000 : 120_000,
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
