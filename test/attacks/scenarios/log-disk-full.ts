import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { figuresOf } from '#test/stored-telemetry'
import { until } from '#test/until'
import type { Attack } from '../attack.ts'
import { attempt } from '../http-attempt.ts'

/** Writes until the disk is full. */
function fill(file: string): void {
  const filler = openSync(file, 'w')
  try {
    for (const size of [1024 ** 2, 4_096, 1]) {
      try {
        for (;;) writeSync(filler, Buffer.alloc(size))
      } catch {
        // The disk is full for blocks of this size.
      }
    }
  } finally {
    closeSync(filler)
  }
}

/** Another process fills the disk of the log completely. */
export const logDiskFull: Attack = {
  name: 'log-disk-full',
  about: 'the disk of the log is full for a while',
  target: { logDiskMebibytes: 300 },
  exempt: ['reportQueryable'],
  async run({ url, ingestUrl, folder, bystander }, { quick, signal }) {
    const filler = join(folder.telemetryLog, 'filler')
    const [, device] = bystander.devices
    const report = async () => {
      const answer = await attempt({
        url: `${url}/telemetry`,
        method: 'POST',
        headers: { authorization: `Bearer ${device?.token}`, 'content-type': 'application/json' },
        body: '{"samples":[{"kind":"system","cpuPct":1}]}',
        timeoutMs: 10_000,
      })
      return answer.status
    }
    const answers: Record<string, number> = {}
    fill(filler)
    // Reports that ingest accepts before it notices the full disk must be stored.
    const endMs = Date.now() + (quick ? 8_000 : 60_000)
    let accepted = 0
    while (Date.now() < endMs && !signal.aborted) {
      const answer = await report().catch(() => 'connection closed')
      answers[answer] = (answers[answer] ?? 0) + 1
      if (answer === 202) accepted += 1
      await delay(500)
    }
    rmSync(filler)
    const freedMs = Date.now()
    const isBack = await until('accepted again', async () => (await report()) === 202, 60_000).catch(() => false)
    const tookMs = Date.now() - freedMs
    const { backlog_samples: backlog } = await figuresOf(ingestUrl)
    return {
      answers,
      acceptedSamples: accepted + (isBack ? 1 : 0),
      findings: [
        {
          what: 'accepts again within 10 s',
          held: isBack && tookMs < 10_000,
          detail: `${tookMs} ms, backlog ${backlog}`,
        },
      ],
    }
  },
}
