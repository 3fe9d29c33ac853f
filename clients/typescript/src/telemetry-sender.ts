import type { paths } from './openapi.ts'
import { ProblemError, problemOf } from './problem.ts'
import { backOffMs, type Fetch, pause, retryAfterMs } from './retrying-fetch.ts'

type Report = NonNullable<paths['/telemetry']['post']['requestBody']>['content']['application/json']
/** One sample. `ts` is the time of `add` if it is missing. */
export type Sample = Report['samples'][number]
export type Rejection = { index: number; code: string; detail: string }

export type TelemetrySenderOptions = {
  baseUrl: string
  /** The device token `fld_…`. */
  token: string
  /** Time between reports; 5 s by default. A full report is sent at once. */
  sendEveryMs?: number
  /** The most samples to keep while the service cannot be reached; 100,000 by default. The oldest are dropped first. */
  maxSamples?: number
  fetch?: Fetch
  /** Called with samples that the service does not accept. They are not sent again. */
  onRejected?: (rejected: readonly Rejection[]) => void
  /** Called with the number of samples that did not fit into the buffer. */
  onDropped?: (count: number) => void
  /** Called with each failed attempt. The report is sent again. */
  onError?: (error: unknown) => void
}

export type TelemetrySender = {
  add(sample: Sample): void
  /** Resolves when the service has answered for all samples added before. Rejects when the signal aborts. */
  flush(signal?: AbortSignal): Promise<void>
  /** Sends what is left and ends. */
  close(signal?: AbortSignal): Promise<void>
  /** The number of samples that are not acknowledged. */
  readonly pending: number
}

type Outgoing = { batchId: string; samples: string[] }

const maxReportSamples = 500
const maxReportBytes = 900_000
/** Statuses for a report that will never be accepted. */
const refusals = new Set([400, 413, 415])

/**
 * Collects samples and sends them as reports, one after the other. A report keeps its id and its samples until the service
 * has answered, so that the service recognizes a repetition.
 */
export function createTelemetrySender(options: TelemetrySenderOptions): TelemetrySender {
  const { sendEveryMs = 5_000, maxSamples = 100_000, fetch = globalThis.fetch } = options
  const waiting: string[] = []
  let outgoing: Outgoing | undefined
  let sending: Promise<void> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  const closing = new AbortController()

  /** Sends reports until the buffer is empty. */
  const drain = async (): Promise<void> => {
    for (let attempt = 1; ; attempt += 1) {
      outgoing ??= nextReport(waiting)
      if (!outgoing) return
      const answer = await send(fetch, options, outgoing).catch((error: unknown) => error)
      if (answer === undefined || (answer instanceof ProblemError && refusals.has(answer.status))) {
        const { samples } = outgoing
        outgoing = undefined
        attempt = 0
        if (answer) options.onRejected?.(samples.map((_, index) => rejection(index, answer)))
        continue
      }
      options.onError?.(answer)
      await pause(waitMsOf(answer) ?? backOffMs(attempt), closing.signal)
    }
  }
  const start = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    sending ??= drain()
      // Rejects only when the sender ends during a pause.
      .catch(() => undefined)
      .finally(() => {
        sending = undefined
      })
    return sending
  }

  const flush = async (signal?: AbortSignal) => {
    const aborted = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason), { once: true })
    })
    // Nothing waits for it if the buffer is empty.
    aborted.catch(() => undefined)
    signal?.throwIfAborted()
    while (waiting.length > 0 || outgoing) await Promise.race([start(), aborted])
  }

  return {
    add(sample) {
      if (closing.signal.aborted) throw new Error('The sender is closed.')
      waiting.push(JSON.stringify({ ts: new Date().toISOString(), ...sample }))
      const excess = waiting.length + (outgoing?.samples.length ?? 0) - maxSamples
      if (excess > 0) options.onDropped?.(waiting.splice(0, excess).length)
      if (waiting.length >= maxReportSamples) void start()
      else timer ??= setTimeout(() => void start(), sendEveryMs)
    },
    flush,
    async close(signal) {
      try {
        await flush(signal)
      } finally {
        closing.abort()
        clearTimeout(timer)
      }
    },
    get pending() {
      return waiting.length + (outgoing?.samples.length ?? 0)
    },
  }
}

function nextReport(waiting: string[]): Outgoing | undefined {
  let count = 0
  for (let bytes = 0; count < Math.min(waiting.length, maxReportSamples); count += 1) {
    bytes += 3 * (waiting[count]?.length ?? 0) + 1
    if (count > 0 && bytes > maxReportBytes) break
  }
  return count === 0 ? undefined : { batchId: crypto.randomUUID(), samples: waiting.splice(0, count) }
}

/** Sends one report. `sentAt` is the time of this attempt, by which the service corrects a wrong clock. */
async function send(fetch: Fetch, options: TelemetrySenderOptions, { batchId, samples }: Outgoing): Promise<void> {
  const body = `{"sentAt":${JSON.stringify(new Date().toISOString())},"batchId":"${batchId}","samples":[${samples.join(',')}]}`
  const response = await fetch(
    new Request(`${options.baseUrl.replace(/\/$/, '')}/telemetry`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${options.token}`, 'Content-Type': 'application/json' },
      body,
    }),
  )
  if (!response.ok) throw Object.assign(await problemOf(response), { retryAfterMs: retryAfterMs(response) })
  const { rejected } = (await response.json()) as { rejected: Rejection[] }
  if (rejected.length > 0) options.onRejected?.(rejected)
}

const waitMsOf = (error: unknown): number | undefined => (error as { retryAfterMs?: number }).retryAfterMs

const rejection = (index: number, { code, message }: ProblemError): Rejection => ({ index, code, detail: message })
