import {
  type ByteRecord,
  byteIn,
  bytesIn,
  choiceIn,
  countIn,
  createByteRecord,
  flagIn,
  listIn,
  longIn,
  nullableIn,
  numberIn,
  optionalIn,
  partIn,
  recordOf,
  textIn,
  unread,
  writtenIn,
} from '#core/byte-record'
import { numbersIn } from '#core/number-list'
import type { Extent } from '#telemetry/geo/extent'
import { type DeviceAlignment, openDwellRows } from '#telemetry/position/device-alignment'
import { type Dwell, deviceClasses } from '#telemetry/position/dwell'
import type { DwellState } from '#telemetry/position/dwell-detector'
import type { ModemService, SimUse } from '#telemetry/position/lost-operator'
import { kinds } from '#telemetry/report/fields'
import { alignments } from '#telemetry/report/rows'
import type { RadioRow } from '#telemetry/rows/radio-row'
import {
  type DeviceTrack,
  forgetSettledPast,
  isIdle,
  type MutableTrack,
  own,
  settleDueMs,
} from '#telemetry-writer/tracks/device-track'
import type { ReportInterval } from '#telemetry-writer/tracks/report-interval'
import type { Owners } from '#telemetry-writer/tracks/track-owners'
import type { DeviceState } from './device-state.ts'
import type { SeenTimes } from './seen-samples.ts'

/*
 * The state of a device between two reports, as bytes. Each function describes a part of it for both directions: it packs the part, or
 * replaces it with what it unpacks. A change of the order or of a value needs a new `stateVersion`, because files of states remain
 * after an update of the program.
 */

/** The state of a device between two reports. */
type PackedState = {
  /** The values of the state, until the next call. */
  bytes: Buffer
  /** When the state has something to settle if no report arrives before. Infinity if never. */
  settleDueMs: number
}

const packed = createByteRecord(64 * 1024)

/** Packs a state. Undefined if the device has work that must stay in memory. */
export function packState(state: DeviceState): PackedState | undefined {
  const { track, usedAtMs } = state
  if (!isIdle(track)) return undefined
  forgetSettledPast(track)
  packed.at = 0
  stateIn(packed, state)
  return { bytes: writtenIn(packed), settleDueMs: settleDueMs(track, usedAtMs) }
}

/** Makes a state that continues where these bytes were packed. Throws a RangeError if they are incomplete. */
export const unpackState = (bytes: Buffer, state: DeviceState): void => stateIn(recordOf(bytes), state)

function stateIn(record: ByteRecord, state: DeviceState): void {
  state.position = numberIn(record, state.position)
  state.newestSystemMs = numberIn(record, state.newestSystemMs)
  state.usedAtMs = numberIn(record, state.usedAtMs)
  for (const kind of kinds) seenIn(record, state.seen[kind])
  trackIn(record, own(state.track))
  alignmentIn(record, state.track.alignment)
}

function seenIn(record: ByteRecord, seen: SeenTimes): void {
  seen.floorMs = numberIn(record, seen.floorMs)
  seen.newestMs = numberIn(record, seen.newestMs)
  seen.generation = numberIn(record, seen.generation)
  seen.sources = listIn(record, seen.sources, sourceIn)
  numbersIn(record, seen.current)
  numbersIn(record, seen.previous)
  // It is made again when it is needed.
  if (record.isReading) seen.lookup = undefined
}

const sourceIn = (record: ByteRecord, source = ''): string => textIn(record, source) ?? ''

function trackIn(record: ByteRecord, track: MutableTrack): void {
  track.deviceClass = choiceIn(record, deviceClasses, track.deviceClass)
  track.realignFailures = numberIn(record, track.realignFailures)
  track.revision = numberIn(record, track.revision)
  track.settledAtMs = numberIn(record, track.settledAtMs)
  track.interval = partIn(record, track.interval, intervalIn)
  track.past = optionalIn(record, track.past, positionIn)
  track.written = optionalIn(record, track.written, writtenDwellIn)
  track.unwritten = optionalIn(record, track.unwritten, rangeIn)
  track.owners = partIn(record, track.owners, ownersIn)
  track.services = listIn(record, track.services, serviceIn)
}

const intervalIn = (record: ByteRecord, interval: ReportInterval = unread): ReportInterval => ({
  receivedAtMs: numberIn(record, interval.receivedAtMs),
  everyMs: numberIn(record, interval.everyMs),
})

const positionIn = (record: ByteRecord, position: NonNullable<DeviceTrack['past']> = unread) => ({
  tsMs: numberIn(record, position.tsMs),
  lat: numberIn(record, position.lat),
  lon: numberIn(record, position.lon),
})

const writtenDwellIn = (record: ByteRecord, written: NonNullable<DeviceTrack['written']> = unread) => ({
  arrivedAtMs: numberIn(record, written.arrivedAtMs),
  lastInsideAtMs: numberIn(record, written.lastInsideAtMs),
  gap: flagIn(record, written.gap),
})

const rangeIn = (record: ByteRecord, range: NonNullable<DeviceTrack['unwritten']> = unread) => ({
  fromMs: numberIn(record, range.fromMs),
  toMs: numberIn(record, range.toMs),
})

const ownersIn = (record: ByteRecord, owners: Owners = unread): Owners => ({
  present: optionalIn(record, owners.present, ownerIn),
  previous: optionalIn(record, owners.previous, ownerIn),
})

const ownerIn = (record: ByteRecord, owner: NonNullable<Owners['present']> = unread) => ({
  organizationId: textIn(record, owner.organizationId) ?? '',
  receivedAtMs: numberIn(record, owner.receivedAtMs),
  newestFixMs: numberIn(record, owner.newestFixMs),
})

const serviceIn = (record: ByteRecord, service: ModemService = unread): ModemService => ({
  modem: textIn(record, service.modem),
  served: servedIn(record, service.served),
  sims: listIn(record, service.sims, simIn),
  lostMs: numberIn(record, service.lostMs),
})

const [isUnknown, isNever, isServed] = [0, 1, 2]

function servedIn(record: ByteRecord, served: ModemService['served']): ModemService['served'] {
  const tag = byteIn(record, served ? isServed : served === null ? isNever : isUnknown)
  if (tag !== isServed) return tag === isNever ? null : undefined
  const { tsMs, plmn } = served ?? unread
  return { tsMs: numberIn(record, tsMs), plmn: textIn(record, plmn) ?? '' }
}

const simIn = (record: ByteRecord, sim: SimUse = unread): SimUse => ({
  fromMs: numberIn(record, sim.fromMs),
  iccid: textIn(record, sim.iccid),
  simSlot: nullableIn(record, sim.simSlot),
})

function alignmentIn(record: ByteRecord, alignment: DeviceAlignment<RadioRow>): void {
  alignment.newestReportMs = numberIn(record, alignment.newestReportMs)
  alignment.knownFromMs = numberIn(record, alignment.knownFromMs)
  alignment.droppedUntilMs = numberIn(record, alignment.droppedUntilMs)
  alignment.staleFromMs = nullableIn(record, alignment.staleFromMs)
  alignment.openDwellRows = choiceIn(record, openDwellRows, alignment.openDwellRows)
  numbersIn(record, alignment.fixes)
  dwellStateIn(record, alignment.dwell)
  alignment.closedDwells = listIn(record, alignment.closedDwells, dwellIn)
  alignment.trailing = rowsIn(record, alignment.trailing)
}

/** An open dwell has no pending fixes, and a closed one no summary. */
function dwellStateIn(record: ByteRecord, dwell: DwellState): void {
  dwell.pendingFrom = countIn(record, dwell.pendingFrom)
  dwell.isOpen = flagIn(record, dwell.isOpen)
  if (!dwell.isOpen) return
  dwell.arrivedAtMs = numberIn(record, dwell.arrivedAtMs)
  dwell.anchorLat = numberIn(record, dwell.anchorLat)
  dwell.anchorLon = numberIn(record, dwell.anchorLon)
  dwell.accuracyM = numberIn(record, dwell.accuracyM)
  dwell.gap = flagIn(record, dwell.gap)
  extentIn(record, dwell.extent)
}

function extentIn(record: ByteRecord, extent: Extent): void {
  extent.originLat = numberIn(record, extent.originLat)
  extent.originLon = numberIn(record, extent.originLon)
  extent.count = numberIn(record, extent.count)
  extent.latOffsetSum = numberIn(record, extent.latOffsetSum)
  extent.lonOffsetSum = numberIn(record, extent.lonOffsetSum)
  numbersIn(record, extent.hull)
  numbersIn(record, extent.recent)
}

const dwellIn = (record: ByteRecord, dwell: Dwell = unread): Dwell => ({
  arrivedAtMs: numberIn(record, dwell.arrivedAtMs),
  departedAtMs: nullableIn(record, dwell.departedAtMs),
  firstOutsideAtMs: nullableIn(record, dwell.firstOutsideAtMs),
  lastInsideAtMs: numberIn(record, dwell.lastInsideAtMs),
  anchorLat: numberIn(record, dwell.anchorLat),
  anchorLon: numberIn(record, dwell.anchorLon),
  lat: numberIn(record, dwell.lat),
  lon: numberIn(record, dwell.lon),
  radiusM: numberIn(record, dwell.radiusM),
  fixCount: numberIn(record, dwell.fixCount),
  accuracyM: numberIn(record, dwell.accuracyM),
  gap: flagIn(record, dwell.gap),
})

/** Rows of one organization usually: it is written once for all that follow each other. */
function rowsIn(record: ByteRecord, rows: RadioRow[]): RadioRow[] {
  let organizationId = ''
  return listIn(record, rows, (_, row: RadioRow = unread) => {
    organizationId = textIn(record, row.organizationId === organizationId ? null : row.organizationId) ?? organizationId
    return rowIn(record, row, organizationId)
  })
}

/** The members in the order of `radioRow`, so that all rows have one shape. */
function rowIn(record: ByteRecord, row: RadioRow, organizationId: string): RadioRow {
  const same = {
    organizationId,
    modem: textIn(record, row.modem),
    rat: textIn(record, row.rat) as RadioRow['rat'],
    plmn: textIn(record, row.plmn),
    simPlmn: textIn(record, row.simPlmn),
    lostPlmn: textIn(record, row.lostPlmn),
    tsMs: numberIn(record, row.tsMs),
    receivedAtMs: numberIn(record, row.receivedAtMs),
    lat: nullableIn(record, row.lat),
    lon: nullableIn(record, row.lon),
    accuracyM: nullableIn(record, row.accuracyM),
    fixAgeMs: nullableIn(record, row.fixAgeMs),
    alignment: choiceIn(record, alignments, row.alignment),
    alignedLat: nullableIn(record, row.alignedLat),
    alignedLon: nullableIn(record, row.alignedLon),
    alignErrorM: nullableIn(record, row.alignErrorM),
    alignedFixAgeMs: nullableIn(record, row.alignedFixAgeMs),
    h3Res10: longIn(record, row.h3Res10),
    h3Res5: longIn(record, row.h3Res5),
    symbolBytes: countIn(record, row.symbolBytes),
    rest: bytesIn(record, row.rest),
    restBytes: 0,
  }
  same.restBytes = same.rest.length
  return same
}
