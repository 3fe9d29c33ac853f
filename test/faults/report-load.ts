import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { Pool } from 'undici'
import type { ReportingDevice } from '#test/reporting-device'

export type ReportLoad = {
  /** Samples acknowledged with 202 so far. */
  accepted(): number
  /** Responses other than 202 and requests to retry later. */
  unexpected(): string[]
  /** Repeated requests. */
  repeats(): number
  /** Repeated requests by the reason: a status with its code, or `no answer`. */
  repeatsByReason(): Readonly<Record<string, number>>
  /** Sends no new reports. Resolves when the sent reports are acknowledged. */
  finish(): Promise<void>
}

const kinds = ['cellular', 'location', 'system'] as const
const samplesPerReport = 30

/**
 * Simulates reporting routers: each sends one report after the other and repeats a report until it is acknowledged. Samples
 * of a device never share kind and time, so each accepted sample must be one row. A device pauses for about `pauseMs` between
 * two reports.
 */
export function startReportLoad(
  url: string,
  devices: readonly ReportingDevice[],
  { pauseMs = 75 }: { pauseMs?: number } = {},
): ReportLoad {
  const pool = new Pool(url, { connections: 64, headersTimeout: 20_000, bodyTimeout: 20_000 })
  const unexpected: string[] = []
  let accepted = 0
  const reasons: Record<string, number> = {}
  let repeats = 0
  let finishing = false

  const repeatBecause = (reason: string) => {
    reasons[reason] = (reasons[reason] ?? 0) + 1
  }

  async function send(token: string, body: string): Promise<boolean> {
    try {
      const answer = await pool.request({
        method: 'POST',
        path: '/telemetry',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body,
      })
      const text = await answer.body.text()
      if (answer.statusCode === 202) return true
      if (answer.statusCode !== 503 && answer.statusCode !== 429) unexpected.push(`${answer.statusCode} ${text}`)
      repeatBecause(`${answer.statusCode} ${/"code":"(\w+)"/.exec(text)?.[1] ?? ''}`)
    } catch {
      // The server was killed or the link was cut. The report may have been accepted, so send it again.
      repeatBecause('no answer')
    }
    return false
  }

  async function reportForEver({ token }: ReportingDevice): Promise<void> {
    const startMs = Date.now() - 20 * 60 * 60 * 1_000
    for (let report = 0; !finishing; report++) {
      const samples = Array.from({ length: samplesPerReport }, (_, index) => {
        const number = report * samplesPerReport + index
        return sampleOf(kinds[number % kinds.length] ?? 'system', startMs + number * 100, number)
      })
      const body = JSON.stringify({ batchId: randomUUID(), samples })
      while (!(await send(token, body))) {
        repeats += 1
        await delay(20 + Math.random() * 80)
      }
      accepted += samplesPerReport
      await delay(Math.random() * 2 * pauseMs)
    }
  }

  const running = Promise.all(devices.map(reportForEver))
  return {
    accepted: () => accepted,
    unexpected: () => unexpected,
    repeats: () => repeats,
    repeatsByReason: () => reasons,
    async finish() {
      finishing = true
      await running
      await pool.close()
    },
  }
}

function sampleOf(kind: (typeof kinds)[number], ts: number, number: number): Record<string, unknown> {
  if (kind === 'cellular') return { kind, ts, rat: 'lte', rsrpDbm: -80 - (number % 40), plmn: '27201' }
  if (kind === 'system') return { kind, ts, cpuPct: number % 100 }
  return { kind, ts, lat: 51.9 + (number % 1_000) * 1e-4, lon: -8.47, fix: '3d', accuracyM: 5, speedMps: 12 }
}
