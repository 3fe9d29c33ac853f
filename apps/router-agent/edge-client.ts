import { promisify } from 'node:util'
import { gzip, gzipSync } from 'node:zlib'
import { type Dispatcher, request } from 'undici'
import { errorText } from '#core/error-text'

const gzipElsewhere = promisify(gzip)
/** Compressing less than this takes less time than waking another thread. */
const compressedHereBytes = 64 * 1024

/** Every call allocates the memory of the compression: 32 KiB instead of 256 KiB. Reports repeat themselves within lines. */
const smallWindow = { windowBits: 12, memLevel: 5 }

const compressed = async (text: string): Promise<Buffer> =>
  text.length < compressedHereBytes ? gzipSync(text, { level: 4, ...smallWindow }) : gzipElsewhere(text, { level: 4 })

/** `status` 0: no response (connection refused, lost or timed out). `retryAfterMs`: only when the server sent one. */
export type EdgeAnswer = { status: number; body: unknown; detail: string; retryAfterMs?: number }

type JobReport = {
  attempt: number
  status: 'inProgress' | 'succeeded' | 'failed' | 'rejected'
  progress?: number
  code?: string | undefined
  detail?: string | Record<string, string | number | null> | undefined
}

/** What a router runs. `settings`, without secrets: only when they differ from those of the profile. */
export type RunningProfile = {
  profileId: string
  version: number
  digest: string
  settings?: Record<string, unknown>
}

export type Enrollment = { enrollmentKey: string; serial: string; model: string; name?: string; nonce?: string }

/** The client of the device edge, with one method per call of the protocol. No method throws for a bad link. */
export type EdgeClient = {
  enroll: (enrollment: Enrollment) => Promise<EdgeAnswer>
  postTelemetry: (token: string, ndjson: string) => Promise<EdgeAnswer>
  nextJob: (token: string, waitSeconds: number) => Promise<EdgeAnswer>
  reportJob: (token: string, jobId: string, report: JobReport) => Promise<EdgeAnswer>
  config: (token: string) => Promise<EdgeAnswer>
  reportConfig: (token: string, running: RunningProfile) => Promise<EdgeAnswer>
  /** A GET request to measure the path. Returns the number of bytes received. */
  probe: (path: string) => Promise<{ status: number; bytes: number }>
  /** When the latest call that the service answered with any status began, in milliseconds of `performance.now()`. */
  lastContactMs: () => number
}

const answerTimeoutMs = 30_000

type EdgeClientOptions = {
  /** The service. May have a path prefix. */
  baseUrl: string
  /**
   * A device edge on the same machine, for telemetry only. Reports are sent to it without compression, which takes more time
   * than the loopback interface. By default, the service receives them compressed.
   */
  localEdgeUrl?: string | undefined
  /** The connection pool, shared by all routers of a process. */
  dispatcher: Dispatcher
  /** Pending calls end with status 0 when it aborts. */
  signal: AbortSignal
}

export function createEdgeClient({ baseUrl, localEdgeUrl, dispatcher, signal }: EdgeClientOptions): EdgeClient {
  const prefix = withoutSlash(baseUrl)
  const reportUrl = `${localEdgeUrl === undefined ? prefix : withoutSlash(localEdgeUrl)}/telemetry`

  let contactMs = Number.NEGATIVE_INFINITY

  async function call(
    method: 'GET' | 'POST' | 'PUT',
    url: string,
    headers: Record<string, string>,
    extra: { body?: string | Buffer; timeoutMs?: number } = {},
  ): Promise<EdgeAnswer> {
    const timeoutMs = extra.timeoutMs ?? answerTimeoutMs
    const beganAtMs = performance.now()
    try {
      const answer = await request(url, {
        method,
        headers,
        dispatcher,
        headersTimeout: timeoutMs,
        bodyTimeout: answerTimeoutMs,
        body: extra.body ?? null,
        signal,
      })
      if (!isOfLoginNetwork(answer.statusCode)) contactMs = Math.max(contactMs, beganAtMs)
      const text = await answer.body.text()
      const body = parseJson(text)
      const retryAfterMs = retryAfterOf(answer.headers['retry-after'])
      const detail = `${answer.statusCode} ${detailOf(body)}`.trim()
      return { status: answer.statusCode, body, detail, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
    } catch (error) {
      return { status: 0, body: undefined, detail: errorText(error) }
    }
  }

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  const json = { 'content-type': 'application/json' }
  return {
    enroll: (enrollment) => call('POST', `${prefix}/device/enroll`, json, { body: JSON.stringify(enrollment) }),
    async postTelemetry(token, ndjson) {
      const headers = { ...bearer(token), 'content-type': 'application/x-ndjson' }
      if (localEdgeUrl !== undefined) return call('POST', reportUrl, headers, { body: ndjson })
      const body = await compressed(ndjson)
      return call('POST', reportUrl, { ...headers, 'content-encoding': 'gzip' }, { body })
    },
    nextJob: (token, waitSeconds) =>
      call('GET', `${prefix}/device/jobs/next?waitSeconds=${waitSeconds}`, bearer(token), {
        timeoutMs: waitSeconds * 1_000 + answerTimeoutMs,
      }),
    reportJob: (token, jobId, report) =>
      call(
        'POST',
        `${prefix}/device/jobs/${jobId}/status`,
        { ...bearer(token), ...json },
        { body: JSON.stringify(report) },
      ),
    config: (token) => call('GET', `${prefix}/device/config`, bearer(token)),
    reportConfig: (token, running) =>
      call('PUT', `${prefix}/device/config`, { ...bearer(token), ...json }, { body: JSON.stringify(running) }),
    lastContactMs: () => contactMs,
    async probe(path) {
      try {
        const answer = await request(prefix + path, { dispatcher, headersTimeout: 5_000, bodyTimeout: 5_000, signal })
        return { status: answer.statusCode, bytes: (await answer.body.arrayBuffer()).byteLength }
      } catch {
        return { status: 0, bytes: 0 }
      }
    },
  }
}

/** The service sends no redirects. A network that asks for a login does, or responds with 511 (RFC 6585). */
const isOfLoginNetwork = (status: number): boolean =>
  status === 511 || (status >= 300 && status < 400 && status !== 304)

const withoutSlash = (url: string): string => url.replace(/(?<!\/)\/+$/, '')

function parseJson(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}

const detailOf = (body: unknown): string =>
  typeof body === 'object' && body !== null && 'detail' in body && typeof body.detail === 'string' ? body.detail : ''

/** Delta seconds or an HTTP date (RFC 9110, 10.2.3). */
function retryAfterOf(header: string | string[] | undefined): number | undefined {
  const text = Array.isArray(header) ? header[0] : header
  if (text === undefined) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
