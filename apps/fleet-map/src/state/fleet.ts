import { get } from '../api/client.ts'
import { rowsOf } from '../api/columns.ts'
import type { Operation, QueryOf } from '../api/operations.ts'
import type { FleetDevice } from '../api/schemas.ts'

/** Filters that the service applies. */
export type FleetFilter = {
  org: string
  group: string
  tag: string
  rat: NonNullable<DevicesQuery['rat']>
  plmn: string
  /** Classes, separated by commas. */
  signal: string
  sinceMinutes: number
}

type DevicesQuery = QueryOf<Operation<'get', '/fleet/gps'>>

const maxIdsPerRequest = 100

/** Reads devices by their ids. Leaves out those that the query does not select. */
export async function readDevices(ids: readonly string[], query: DevicesQuery, signal: AbortSignal) {
  const batches = Array.from({ length: Math.ceil(ids.length / maxIdsPerRequest) }, (_, index) =>
    ids.slice(index * maxIdsPerRequest, (index + 1) * maxIdsPerRequest),
  )
  const answers = await Promise.all(
    batches.map((deviceId) =>
      get('/fleet/gps', {
        signal,
        query: { include: ['devices'], ...query, deviceId, format: 'columnar' },
      }),
    ),
  )
  const rows = answers.flatMap(({ devices }) => (Array.isArray(devices) ? [] : rowsOf<FleetDevice>(devices)))
  return {
    devices: new Map(rows.map((device) => [device.deviceId, device])),
    limitedBy: answers[0]?.window.limitedBy ?? null,
  }
}

/** Reads one device with its modems; undefined if the query does not select it. */
export async function readDeviceWithModems(id: string, query: DevicesQuery, signal: AbortSignal) {
  const { devices, limitedBy } = await readDevices([id], { ...query, include: ['devices', 'modems'] }, signal)
  return { device: devices.get(id), limitedBy }
}
