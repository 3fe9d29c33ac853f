import { type DeviceMoment, storeMoments, waitingDevices, waitingOrganizations } from '#fleet/jobs/moments'
import type { Logger } from '#http/request-log'
import type { Pool } from '#postgres/pool'
import { activeSignal, foldMoment, type ReportedMoment } from './reported-moments.ts'

export type DeviceMoments = {
  /** Reads which organizations have jobs that wait for a good moment. Reports of others need not be told. */
  refresh(): Promise<void>
  isAwaited(organizationId: string): boolean
  /** Adds what stored samples say, in order of their reports. */
  add(told: readonly ReportedMoment[]): void
  /** Writes all changes since the last flush. Keeps those that cannot be written, and then returns false. */
  flush(): Promise<boolean>
}

/** The time of an unchanged signal is written this often: jobs compare it with 2 minutes. */
const renewMs = 30_000
const together = 5_000

/** Writes the moments of devices to Postgres for which a job waits. */
export function createDeviceMoments({
  pool,
  logger,
  onAwaited = () => {},
}: {
  pool: Pool
  logger: Logger
  /** Receives the organizations whose reports must be told. */
  onAwaited?: ((organizations: readonly string[]) => void) | undefined
}): DeviceMoments {
  let awaited = new Set<string>()
  let added = new Map<string, ReportedMoment>()
  const waiting = createWaitingDevices()

  function keep(told: ReportedMoment): void {
    const known = added.get(told.deviceId)
    if (known) foldMoment(known, told)
    else added.set(told.deviceId, told)
  }

  async function write(told: readonly ReportedMoment[]): Promise<void> {
    const ids = told.map(({ deviceId }) => deviceId)
    const changes = waiting.take(told, await waitingDevices(pool, ids))
    await storeMoments({ pool }, changes)
    waiting.noteWritten(changes)
  }

  return {
    async refresh() {
      const found = await waitingOrganizations(pool)
      if (found.size === awaited.size && found.isSubsetOf(awaited)) return
      awaited = found
      waiting.forgetOthers(found)
      onAwaited([...found])
    },
    isAwaited: (organizationId) => awaited.has(organizationId),
    add(told) {
      for (const moment of told) keep(moment)
    },
    async flush() {
      const told = [...added.values()]
      added = new Map()
      for (let start = 0; start < told.length; start += together) {
        try {
          await write(told.slice(start, start + together))
        } catch (error) {
          const since = [...added.values()]
          added = new Map()
          for (const moment of [...told.slice(start), ...since]) keep(moment)
          logger.warn(
            { devices: added.size, error: error instanceof Error ? error.name : 'unknown' },
            'moments_delayed',
          )
          return false
        }
      }
      return true
    },
  }
}

/** What devices for which a job waits have reported, and what Postgres knows of it. */
function createWaitingDevices() {
  const devices = new Map<string, { moment: ReportedMoment; written: DeviceMoment | undefined }>()

  function changeOf(told: ReportedMoment): DeviceMoment | undefined {
    const { deviceId } = told
    const known = devices.get(deviceId)
    if (known) foldMoment(known.moment, told)
    const { moment, written } = known ?? { moment: told, written: undefined }
    devices.set(deviceId, { moment, written })
    const { organizationId, dwelling = null } = moment
    const next = { deviceId, organizationId, dwelling, ...activeSignal(moment) }
    return isWorthWriting(written, next) ? next : undefined
  }

  return {
    /** Takes new reports of devices for which a job waits, and forgets others. Returns what must be written. */
    take(told: readonly ReportedMoment[], isWaiting: ReadonlySet<string>): DeviceMoment[] {
      for (const { deviceId } of told) if (!isWaiting.has(deviceId)) devices.delete(deviceId)
      return told.filter(({ deviceId }) => isWaiting.has(deviceId)).flatMap((moment) => changeOf(moment) ?? [])
    },
    noteWritten(changes: readonly DeviceMoment[]): void {
      for (const change of changes) {
        const known = devices.get(change.deviceId)
        if (known) known.written = change
      }
    },
    /** Forgets the devices of other organizations. */
    forgetOthers(organizations: ReadonlySet<string>): void {
      for (const [deviceId, { moment }] of devices)
        if (!organizations.has(moment.organizationId)) devices.delete(deviceId)
    },
  }
}

function isWorthWriting(written: DeviceMoment | undefined, next: DeviceMoment): boolean {
  if (written?.quality !== next.quality || written.dwelling !== next.dwelling) return true
  if (written.organizationId !== next.organizationId) return true
  return (next.signalAtMs ?? 0) - (written.signalAtMs ?? 0) >= renewMs
}
