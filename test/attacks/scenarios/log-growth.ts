import { statfsSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'
import { flood } from '../telemetry-flood.ts'

const spaces = ' '.repeat(1024 ** 2 - 200)
const diskMebibytes = 200

/** Sends reports of one kilobyte that need one MiB in the log. */
export const logGrowth: Attack = {
  name: 'log-growth',
  about: 'ten devices send 1 MiB of spaces as 1 KB of gzip; the log is on a disk of 200 MiB',
  target: { logDiskMebibytes: diskMebibytes },
  async run({ url, attacker, folder }, { quick, signal }) {
    const client = openAttackerClient(signal)
    const startMs = Date.now() - 60 * 60 * 1_000
    let leastFreeMib = diskMebibytes
    const watching = setInterval(() => {
      const { bavail, bsize } = statfsSync(folder.telemetryLog)
      leastFreeMib = Math.min(leastFreeMib, (bavail * bsize) / 1024 ** 2)
    }, 100)
    try {
      const acceptedSamples = await flood({
        client,
        url,
        devices: attacker.devices.slice(0, 10),
        durationMs: quick ? 15_000 : 180_000,
        inFlight: 4,
        signal,
        next: (_, number) => ({
          body: gzipSync(`{"samples":[{"kind":"system","cpuPct":1,"ts":${startMs + number}}]${spaces}}`, { level: 1 }),
          headers: { 'content-encoding': 'gzip' },
        }),
      })
      return {
        answers: client.answers,
        acceptedSamples,
        findings: [
          {
            what: 'the disk does not fill up',
            held: leastFreeMib > 0,
            detail: `${leastFreeMib.toFixed(0)} MiB free at least`,
          },
        ],
      }
    } finally {
      clearInterval(watching)
      client.close()
    }
  },
}
