import { readModem } from '../apps/router-agent/world/modem.ts'
import { spotAt } from '../apps/router-agent/world/paths.ts'
import { cellIdentity, type Reception, receive } from '../apps/router-agent/world/radio.ts'
import type { RouterSpec } from '../apps/router-agent/world/roster.ts'
import { movementAt } from '../apps/router-agent/world/timetable.ts'

/** A download of a firmware image. `lostS`: how long the link has been lost. */
type Download = { jobId: string; attempt: number; bytes: number; lostS: number }

/** What a router did for its update. */
export type UpdateOutcome = { attempts: number; bytes: number; doneAtMs: number | undefined }

export type LinkRouter = {
  outcome: UpdateOutcome
  /** Moves the router to a time of its drive. Asks and downloads as its link allows, and reports if it is time. */
  moveTo(driveMs: number, reports: boolean): void
  stop(): void
}

/** As the agent, whose body timeout is 30 s. */
const brokenAfterS = 30
/** What one router of a loaded cell gets at most of 10 MHz, and the share of Shannon's bound that LTE reaches. */
const bandwidthMhz = 10
const cellShare = 0.3
const reachedShare = 0.6
const umtsMbps = 0.4

function rateMbps({ rat, serving, sinrDb }: Reception): number {
  if (!serving || rat === 'none') return 0
  if (rat === 'umts') return umtsMbps
  return bandwidthMhz * cellShare * reachedShare * Math.log2(1 + 10 ** (sinrDb / 10))
}

/** Where a router is at a time of its drive, and what it receives there. `current`: the cell that it uses. */
function placeAt(
  { timetable, path, surroundings, seed, antennaLossDb }: RouterSpec,
  driveMs: number,
  current?: number,
) {
  const { alongM } = movementAt(timetable, driveMs)
  const spot = spotAt(path, alongM)
  return { spot, reception: receive(surroundings, spot, alongM, driveMs, { seed, antennaLossDb }, current) }
}

/** The share of a drive on which the router has no service. */
export function shareWithoutService(spec: RouterSpec, fromMs: number, minutes: number): number {
  const times = Array.from({ length: minutes * 4 }, (_, index) => fromMs + index * 15_000)
  return times.filter((atMs) => placeAt(spec, atMs).reception.rat === 'none').length / times.length
}

/**
 * A router on its simulated drive, whose link is as good as its signal: the rate follows SINR, and a download breaks after 30 s
 * without service. Reports its signal and position, and waits for jobs in a long poll while it has service.
 */
export function createLinkRouter(
  spec: RouterSpec,
  {
    url,
    token,
    imageBytes,
    onFailed,
  }: { url: string; token: string; imageBytes: number; onFailed: (jobId: string) => void },
): LinkRouter {
  const outcome: UpdateOutcome = { attempts: 0, bytes: 0, doneAtMs: undefined }
  let reception: Reception | undefined
  let download: Download | undefined
  /** An end that the service does not know yet. */
  let result: { jobId: string; attempt: number; status: 'succeeded' | 'failed' } | undefined
  let poll: AbortController | undefined
  let lastMs: number | undefined

  const call = (method: string, path: string, body?: object, signal = AbortSignal.timeout(10_000)) =>
    fetch(url + path, {
      method,
      headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
      signal,
    })

  function report({ spot, reception: received }: ReturnType<typeof placeAt>): void {
    const ts = Date.now()
    const location = { ts, kind: 'location', lat: spot.lat, lon: spot.lon, fix: '3d', accuracyM: 5 }
    call('POST', '/telemetry', { samples: [location, readModem(received, ts, 'absent', spec.seed)] }).then(
      (answer) => answer.arrayBuffer(),
      // Lost, as on a bad link. The next report follows.
      () => undefined,
    )
  }

  async function ask(): Promise<void> {
    poll = new AbortController()
    try {
      const answer = await call('GET', '/device/jobs/next?waitSeconds=30', undefined, poll.signal)
      const job = answer.status === 200 ? ((await answer.json()) as { id: string; attempt: number }) : undefined
      if (!job || result) return
      download = { jobId: job.id, attempt: job.attempt, bytes: 0, lostS: 0 }
      outcome.attempts += 1
    } catch {
      // The link was lost, or the service restarts: the next step asks again.
    } finally {
      poll = undefined
    }
  }

  async function tell(ended: NonNullable<typeof result>): Promise<void> {
    const { jobId, attempt, status } = ended
    try {
      const answer = await call('POST', `/device/jobs/${jobId}/status`, { attempt, status })
      await answer.arrayBuffer()
      if (!answer.ok && answer.status !== 409) return
      if (result === ended) result = undefined
      if (status === 'failed') onFailed(jobId)
    } catch {
      // The next step tells it again.
    }
  }

  function continueDownload(own: Download, passedS: number, driveMs: number, rate: number): void {
    own.lostS = rate > 0 ? 0 : own.lostS + passedS
    const bytes = Math.min(imageBytes - own.bytes, (rate * 1e6 * passedS) / 8)
    own.bytes += bytes
    outcome.bytes += bytes
    const { jobId, attempt } = own
    if (own.bytes >= imageBytes) {
      outcome.doneAtMs ??= driveMs
      result = { jobId, attempt, status: 'succeeded' }
      download = undefined
    } else if (own.lostS > brokenAfterS) {
      result = { jobId, attempt, status: 'failed' }
      download = undefined
    }
  }

  return {
    outcome,
    moveTo(driveMs, reports) {
      const current = reception?.serving ? cellIdentity(reception.serving) : undefined
      const at = placeAt(spec, driveMs, current)
      reception = at.reception
      const rate = rateMbps(reception)
      if (download) continueDownload(download, (driveMs - (lastMs ?? driveMs)) / 1_000, driveMs, rate)
      lastMs = driveMs
      if (rate === 0) return poll?.abort()
      if (reports) report(at)
      if (result) void tell(result)
      else if (!download && !poll && outcome.doneAtMs === undefined) void ask()
    },
    stop: () => poll?.abort(),
  }
}
