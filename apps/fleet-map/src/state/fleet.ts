import { signal } from '@preact/signals'
import { ApiError, call, type Query } from '../api/client.ts'
import { rowsOf } from '../api/columns.ts'
import type { Columns, MapDevice } from '../api/types.ts'

/** Filters that the service applies. */
export type FleetFilter = { org: string; group: string; tag: string; rat: string; plmn: string; sinceMinutes: number }

export type FleetState = {
  /** A new map after every change. */
  devices: ReadonlyMap<string, MapDevice>
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

const maxIdsPerRequest = 100

/** Reads devices by their ids. Leaves out those that the query does not select. */
export async function readDevices(ids: readonly string[], query: Query, signal: AbortSignal) {
  const batches = Array.from({ length: Math.ceil(ids.length / maxIdsPerRequest) }, (_, index) =>
    ids.slice(index * maxIdsPerRequest, (index + 1) * maxIdsPerRequest),
  )
  const answers = await Promise.all(
    batches.map((deviceId) =>
      call<FleetAnswer>('/fleet/gps', {
        signal,
        query: { ...query, deviceId, include: 'devices', format: 'columnar' },
      }),
    ),
  )
  const rows = answers.flatMap(({ devices }) => rowsOf<MapDevice>(devices))
  return {
    devices: new Map(rows.map((device) => [device.deviceId, device])),
    limitedBy: answers[0]?.window.limitedBy ?? null,
  }
}

const pollMs = 5_000
const empty: FleetState = {
  devices: new Map(),
  phase: 'loading',
  error: null,
  updatedAt: null,
  limitedBy: null,
}

export const fleet = signal<FleetState>(empty)

/** Reads the whole fleet, then polls for changes every 5 s. Call the returned function to stop. */
export function followFleet(filter: FleetFilter): () => void {
  const abort = new AbortController()
  let asOf: string | null = null
  let timer: ReturnType<typeof setTimeout> | undefined
  fleet.value = empty

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
        phase: 'live',
        error: null,
        updatedAt: Date.now(),
        limitedBy: answer.window.limitedBy,
      }
    } catch (error) {
      if (abort.signal.aborted) return
      const refusal = error instanceof ApiError ? error : new ApiError(0, 'error', String(error))
      // The service no longer accepts the `since` token: read the whole fleet again.
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
