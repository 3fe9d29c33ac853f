import { type OutboxEvent, publishEvents } from '#fleet/events/publish'
import { type Plans, planNamed } from '#fleet/organizations/plans'
import { type Pool, type Queryable, transaction } from '#postgres/pool'

/** A dwell as it was written. `organizationId` is the owner of the device at the arrival. */
export type ReportedDwell = {
  dwellId: string
  deviceId: string
  organizationId: string
  arrivedAtMs: number
  /** Null while the device has not been observed outside. */
  departedAtMs: number | null
  lastInsideAtMs: number
  lat: number
  lon: number
  radiusM: number
  /** Late reports showed that there was no dwell, or that it began at another time. */
  withdrawn: boolean
}

/** The last dwell that was published, with the state that was published. */
export type AnnouncedDwell = Pick<ReportedDwell, 'dwellId' | 'arrivedAtMs' | 'lat' | 'lon' | 'radiusM'> & {
  state: 'ongoing' | 'ended' | 'withdrawn'
}

type Announcement = { type: 'dwell.started' | 'dwell.ended'; dwell: AnnouncedDwell; departedAtMs: number | null }
type Step = { last: AnnouncedDwell | null; announcements: Announcement[] }

/**
 * Decides which events to publish for a written dwell, given the last published one. Every start is followed by an end. A
 * dwell that is written again, or that is detected after a later one was published, causes no event.
 */
export function announceDwell(last: AnnouncedDwell | null, written: ReportedDwell): Step {
  const unchanged: Step = { last, announcements: [] }
  if (last?.state === 'ongoing') {
    const isRevoked = written.withdrawn && written.arrivedAtMs === last.arrivedAtMs
    if (isRevoked) return { last: { ...last, state: 'withdrawn' }, announcements: [endOf(last, null)] }
    if (written.withdrawn || written.arrivedAtMs < last.arrivedAtMs) return unchanged
    if (isSameDwell(last, written)) {
      if (written.departedAtMs === null) return unchanged
      return {
        last: announced(written),
        announcements: [endOf({ ...last, ...centreOf(written) }, written.departedAtMs)],
      }
    }
    // The end of the last dwell was lost in a crash and is unknown.
    return { last: announced(written), announcements: [endOf(last, null), ...allEventsOf(written)] }
  }
  if (written.withdrawn || !isNewer(last, written)) return unchanged
  return { last: announced(written), announcements: allEventsOf(written) }
}

/** A track restored from its last day reports a later arrival for a dwell that is longer than a day. */
const isSameDwell = (last: AnnouncedDwell, written: ReportedDwell): boolean =>
  written.arrivedAtMs === last.arrivedAtMs ||
  roughDistanceM(last, written) <= Math.max(last.radiusM, written.radiusM, 50)

const isNewer = (last: AnnouncedDwell | null, written: ReportedDwell): boolean => {
  if (last === null || written.arrivedAtMs > last.arrivedAtMs) return true
  // A withdrawn dwell may be written again, also with an earlier arrival.
  return last.state === 'withdrawn' && written.lastInsideAtMs >= last.arrivedAtMs
}

const centreOf = ({ lat, lon, radiusM }: ReportedDwell) => ({ lat, lon, radiusM })

const announced = (written: ReportedDwell): AnnouncedDwell => ({
  dwellId: written.dwellId,
  arrivedAtMs: written.arrivedAtMs,
  ...centreOf(written),
  state: written.departedAtMs === null ? 'ongoing' : 'ended',
})

const endOf = (dwell: AnnouncedDwell, departedAtMs: number | null): Announcement => ({
  type: 'dwell.ended',
  dwell,
  departedAtMs,
})

const allEventsOf = (written: ReportedDwell): Announcement[] => {
  const dwell = announced(written)
  const start: Announcement = { type: 'dwell.started', dwell, departedAtMs: null }
  return written.departedAtMs === null ? [start] : [start, endOf(dwell, written.departedAtMs)]
}

const metresPerDegree = 111_195

function roughDistanceM(a: { lat: number; lon: number }, b: { lat: number; lon: number }): number {
  const lonDegrees = ((b.lon - a.lon + 540) % 360) - 180
  return metresPerDegree * Math.hypot(b.lat - a.lat, lonDegrees * Math.cos((a.lat * Math.PI) / 180))
}

/**
 * Publishes `dwell.started` and `dwell.ended` in the order in which the dwells were written, each once. Publishes only to the
 * present owner of a device, and only when the dwell began under that owner and their plan includes fleet GPS.
 */
export async function publishDwells(
  { pool, plans }: { pool: Pool; plans: Plans },
  written: readonly ReportedDwell[],
): Promise<void> {
  // Most written dwells only extend an open one. This check avoids locks for them.
  const devices = await readDevices(pool, written.map(deviceIdOf), '')
  const changed = new Set(stepsOf(devices, plans, written).map(({ device }) => device.id))
  if (changed.size === 0) return
  await transaction(pool, async (connection) => {
    const locked = await readDevices(connection, [...changed], 'ORDER BY d.id FOR NO KEY UPDATE OF d')
    const steps = stepsOf(locked, plans, written)
    await connection.query(
      `UPDATE device d SET announced_dwell = step.dwell
         FROM unnest($1::uuid[], $2::uuid[], $3::jsonb[]) AS step(organization_id, device_id, dwell)
        WHERE d.organization_id = step.organization_id AND d.id = step.device_id`,
      [
        steps.map(({ device }) => device.organization_id),
        steps.map(({ device }) => device.id),
        steps.map(({ device }) => JSON.stringify(device.announced_dwell)),
      ],
    )
    await publishEvents(
      connection,
      steps.flatMap(({ events }) => events),
    )
  })
}

type DeviceRow = { id: string; organization_id: string; plan: string; announced_dwell: AnnouncedDwell | null }

const deviceIdOf = ({ deviceId }: ReportedDwell) => deviceId

async function readDevices(db: Queryable, deviceIds: readonly string[], lock: string): Promise<DeviceRow[]> {
  const { rows } = await db.query<DeviceRow>(
    `SELECT d.id, d.organization_id, d.announced_dwell, o.plan
       FROM device d JOIN organization o ON o.id = d.organization_id
      WHERE d.id = ANY ($1::uuid[]) ${lock}`,
    [[...new Set(deviceIds)]],
  )
  return rows
}

/** The devices whose last published dwell changes, with the events to publish. */
function stepsOf(
  devices: readonly DeviceRow[],
  plans: Plans,
  written: readonly ReportedDwell[],
): { device: DeviceRow; events: OutboxEvent[] }[] {
  const byDevice = Map.groupBy(written, deviceIdOf)
  return devices.flatMap((device) => {
    const announcements: Announcement[] = []
    let last = device.announced_dwell
    for (const dwell of byDevice.get(device.id) ?? []) {
      if (dwell.organizationId !== device.organization_id) continue
      const step = announceDwell(last, dwell)
      last = step.last
      announcements.push(...step.announcements)
    }
    if (announcements.length === 0) return []
    const isIncluded = planNamed(plans, device.plan).fleetGps
    const events = isIncluded ? announcements.map((announcement) => eventOf(device, announcement)) : []
    return [{ device: { ...device, announced_dwell: last }, events }]
  })
}

function eventOf(device: DeviceRow, { type, dwell, departedAtMs }: Announcement): OutboxEvent {
  const organizationId = device.organization_id
  const payload = {
    deviceId: device.id,
    dwellId: dwell.dwellId,
    arrivedAt: new Date(dwell.arrivedAtMs).toISOString(),
    lat: dwell.lat,
    lon: dwell.lon,
    radiusM: dwell.radiusM,
  }
  if (type === 'dwell.started') return { organizationId, type, payload }
  const departedAt = departedAtMs === null ? null : new Date(departedAtMs).toISOString()
  return { organizationId, type, payload: { ...payload, departedAt } }
}
