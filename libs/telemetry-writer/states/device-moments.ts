import {
  type DeviceMoment,
  forgetMoments,
  forgetMomentsExcept,
  storeMoments,
  waitingDevices,
  waitingOrganizations,
} from '#fleet/jobs/moments'
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
/** A newer signal is written at the latest when the written one has this age, also if the device reports nothing more. */
const staleMs = 60_000
/** Unchanged moments are written this often, because Postgres keeps them for a day. */
const keepMs = 3_600_000
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
  // Undefined until the first refresh.
  let awaited: Set<string> | undefined
  let added = new Map<string, ReportedMoment>()
  const waiting = createWaitingDevices()

  function keep(told: ReportedMoment): void {
    const known = added.get(told.deviceId)
    if (known) foldMoment(known, told)
    else added.set(told.deviceId, told)
  }

  async function write(told: readonly ReportedMoment[]): Promise<void> {
    const ids = told.map(({ deviceId }) => deviceId)
    const isWaiting = await waitingDevices(pool, ids)
    const nowMs = Date.now()
    const changes = waiting.take(told, isWaiting, nowMs)
    await storeMoments({ pool }, changes)
    waiting.noteWritten(changes, nowMs)
    const others = ids.filter((id) => !isWaiting.has(id))
    await forgetMoments(pool, others)
    waiting.forget(others)
  }

  return {
    async refresh() {
      const found = await waitingOrganizations(pool)
      if (awaited && found.size === awaited.size && found.isSubsetOf(awaited)) return
      const others = waiting.devicesOfOthers(found)
      // What an earlier process wrote is not known.
      await (awaited ? forgetMoments(pool, others) : forgetMomentsExcept(pool, [...found]))
      awaited = found
      waiting.forget(others)
      onAwaited([...found])
    },
    isAwaited: (organizationId) => awaited?.has(organizationId) ?? false,
    add(told) {
      for (const moment of told) keep(moment)
    },
    async flush() {
      for (const stale of waiting.stale(Date.now())) if (!added.has(stale.deviceId)) added.set(stale.deviceId, stale)
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

/** `reported`: what the device reported last. `written`: what of it Postgres knows. */
type WaitingDevice = {
  moment: ReportedMoment
  reported: DeviceMoment
  written: (DeviceMoment & { writtenAtMs: number }) | undefined
}

/** What devices for which a job waits have reported, and what Postgres knows of it. */
function createWaitingDevices() {
  const devices = new Map<string, WaitingDevice>()

  function changeOf(told: ReportedMoment, nowMs: number): DeviceMoment | undefined {
    const { deviceId } = told
    const known = devices.get(deviceId)
    if (known) foldMoment(known.moment, told)
    const { moment, written } = known ?? { moment: told, written: undefined }
    const { organizationId, dwelling = null } = moment
    const reported = { deviceId, organizationId, dwelling, ...activeSignal(moment) }
    devices.set(deviceId, { moment, reported, written })
    return isWorthWriting(written, reported, nowMs) ? reported : undefined
  }

  return {
    /** Takes new reports of devices for which a job waits. Returns what must be written. */
    take(told: readonly ReportedMoment[], isWaiting: ReadonlySet<string>, nowMs: number): DeviceMoment[] {
      return told.filter(({ deviceId }) => isWaiting.has(deviceId)).flatMap((moment) => changeOf(moment, nowMs) ?? [])
    },
    noteWritten(changes: readonly DeviceMoment[], nowMs: number): void {
      for (const change of changes) {
        const known = devices.get(change.deviceId)
        if (known) known.written = { ...change, writtenAtMs: nowMs }
      }
    },
    /** The devices whose newer signal must be written now, as reports that say nothing new. */
    stale: (nowMs: number): ReportedMoment[] =>
      [...devices.values()]
        .filter(({ reported, written }) => written && isStale(written, reported, nowMs))
        .map(({ moment }) => ({ ...moment, modems: [], dwelling: undefined })),
    devicesOfOthers: (organizations: ReadonlySet<string>): string[] =>
      [...devices.values()]
        .filter(({ moment }) => !organizations.has(moment.organizationId))
        .map(({ moment }) => moment.deviceId),
    forget(deviceIds: readonly string[]): void {
      for (const deviceId of deviceIds) devices.delete(deviceId)
    },
  }
}

const newerMs = (written: DeviceMoment, next: DeviceMoment): number =>
  (next.signalAtMs ?? 0) - (written.signalAtMs ?? 0)

const isStale = (written: DeviceMoment, next: DeviceMoment, nowMs: number): boolean =>
  newerMs(written, next) > 0 && nowMs - (written.signalAtMs ?? 0) >= staleMs

function isWorthWriting(written: WaitingDevice['written'], next: DeviceMoment, nowMs: number): boolean {
  if (written?.quality !== next.quality || written.dwelling !== next.dwelling) return true
  if (written.organizationId !== next.organizationId) return true
  if (nowMs - written.writtenAtMs >= keepMs) return true
  return newerMs(written, next) >= renewMs || isStale(written, next, nowMs)
}
