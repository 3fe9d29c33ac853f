import { gzipSync } from 'node:zlib'
import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'
import { flood } from '../telemetry-flood.ts'

const bytes = 1_000_000

/** Values of about one MiB that compress well and are expensive to traverse. */
const values: readonly string[] = [
  `[${'[],'.repeat(bytes / 3)}[]]`,
  `[${'1,'.repeat(bytes / 2)}1]`,
  `{${Array.from({ length: 60_000 }, (_, index) => `"k${index}":[]`).join(',')}}`,
  `[${'{"a":[]},'.repeat(bytes / 9)}1]`,
  `${'['.repeat(bytes / 2)}${']'.repeat(bytes / 2)}`,
  `[${`${'['.repeat(7)}${']'.repeat(7)},`.repeat(bytes / 15)}1]`,
]

const reports = values.flatMap((value) =>
  [
    `{"samples":[{"kind":"system","junk":${value}}]}`,
    `{"samples":[{"kind":"cellular","cells":${value}}]}`,
    `{"samples":[{"kind":"system","cpuPct":1}],"junk":${value}}`,
    `{"samples":${value}}`,
  ].map((text) => gzipSync(text)),
)

/** Sends JSON that is cheap to send and expensive to traverse. */
export const nestedReports: Attack = {
  name: 'nested-reports',
  about: '1 MiB of nested arrays in 2 KB of gzip, 240 concurrent reports of a device',
  async run({ url, attacker }, { quick, signal }) {
    const client = openAttackerClient(signal)
    try {
      const acceptedSamples = await flood({
        client,
        url,
        devices: attacker.devices.slice(24, quick ? 25 : 27),
        durationMs: quick ? 8_000 : 60_000,
        inFlight: 240,
        signal,
        next: (_, number) => ({
          body: reports[number % reports.length] ?? '',
          headers: { 'content-encoding': 'gzip' },
        }),
      })
      return { answers: client.answers, acceptedSamples }
    } finally {
      client.close()
    }
  },
}
