import { signal } from '@preact/signals'
import { ApiError, call } from '../api/client.ts'
import { rowsOf } from '../api/columns.ts'
import type { Columns, MapDevice } from '../api/types.ts'

/** What the map asks for; a change starts over with a full answer. */
export type FleetFilter = { org: string; group: string; tag: string; rat: string; plmn: string; sinceMinutes: number }

export type FleetState = {
  devices: ReadonlyMap<string, MapDevice>
  /** Grows with every change, so that views can tell new data from a re-render. */
  version: number
  phase: 'loading' | 'live' | 'stale' | 'refused'
  error: ApiError | null
  updatedAt: number | null
  limitedBy: string | null
}

type FleetAnswer = {
  asOf: string
  window: { from: string; to: string; limitedBy: string | null }
  devices: Columns
  gone?: string[]
  nextCursor: string | null
}

const pollMs = 5_000
const empty: FleetState = {
  devices: new Map(),
  version: 0,
  phase: 'loading',
  error: null,
  updatedAt: null,
  limitedBy: null,
}

export const fleet = signal<FleetState>(empty)

/** Follows the fleet until the returned function is called: one full answer, then only what changed, every 5 s. */
export function followFleet(filter: FleetFilter): () => void {
  const abort = new AbortController()
  let asOf: string | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  fleet.value = { ...empty, version: fleet.value.version + 1 }

  const read = (cursor: string | null) =>
    call<FleetAnswer>('/fleet/gps', {
      signal: abort.signal,
      query: {
        orgId: filter.org,
        groupId: filter.group,
        tag: filter.tag ? filter.tag.split(',') : null,
        rat: filter.rat,
        plmn: filter.plmn,
        sinceMinutes: filter.sinceMinutes,
        include: 'devices',
        format: 'columnar',
        since: asOf,
        cursor,
      },
    })

  const step = async () => {
    let nextMs = pollMs
    try {
      const devices = asOf === null ? new Map<string, MapDevice>() : new Map(fleet.value.devices)
      let cursor: string | null = null
      let changed = asOf === null
      let answer: FleetAnswer
      do {
        answer = await read(cursor)
        for (const device of rowsOf<MapDevice>(answer.devices)) {
          devices.set(device.deviceId, device)
          changed = true
        }
        for (const id of answer.gone ?? []) changed = devices.delete(id) || changed
        cursor = answer.nextCursor
      } while (cursor !== null)
      asOf = answer.asOf
      fleet.value = {
        devices: changed ? devices : fleet.value.devices,
        version: fleet.value.version + (changed ? 1 : 0),
        phase: 'live',
        error: null,
        updatedAt: Date.now(),
        limitedBy: answer.window.limitedBy,
      }
    } catch (error) {
      if (abort.signal.aborted) return
      const refusal = error instanceof ApiError ? error : new ApiError(0, 'error', String(error))
      // A token the service no longer knows is not an error of the reader: start over in full.
      if (refusal.status === 400 && asOf !== null) asOf = null
      nextMs = Math.max(pollMs, (refusal.retryAfterS ?? 0) * 1_000)
      const refused = refusal.status === 403 || refusal.status === 404
      fleet.value = { ...fleet.value, phase: refused ? 'refused' : 'stale', error: refusal }
      if (refused) return
    }
    if (!abort.signal.aborted) timer = setTimeout(step, document.hidden ? pollMs * 6 : nextMs)
  }
  void step()

  return () => {
    abort.abort()
    clearTimeout(timer)
  }
}
