import {
  type ByteReader,
  type ByteWriter,
  createByteWriter,
  readByte,
  readBytes,
  readCount,
  readerOf,
  readLong,
  readNullable,
  readNumber,
  readText,
  writeByte,
  writeBytes,
  writeCount,
  writeLong,
  writeNullable,
  writeNumber,
  writeText,
  writtenIn,
} from '#core/byte-record'
import { readNumberList, writeNumberList } from '#core/number-list'
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
import type { Owners } from '#telemetry-writer/tracks/track-owners'
import type { DeviceState } from './device-state.ts'
import type { SeenTimes } from './seen-samples.ts'

/*
 * The state of a device between two reports, as bytes: the same order of values when it is packed and unpacked. A change of the
 * order or of a value needs a new `stateVersion`, because files of states remain after an update of the program.
 */

/** The state of a device between two reports. */
type PackedState = {
  /** The values of the state, until the next call. */
  bytes: Buffer
  /** When the state has something to settle if no report arrives before. Infinity if never. */
  settleDueMs: number
}

const writer = createByteWriter(64 * 1024)

/** Packs a state. Undefined if the device has work that must stay in memory. */
export function packState({ position, seen, track, newestSystemMs, usedAtMs }: DeviceState): PackedState | undefined {
  if (!isIdle(track)) return undefined
  forgetSettledPast(track)
  writer.at = 0
  writeNumber(writer, position)
  writeNumber(writer, newestSystemMs)
  writeNumber(writer, usedAtMs)
  for (const kind of kinds) writeSeen(writer, seen[kind])
  writeTrack(writer, track)
  writeAlignment(writer, track.alignment)
  return { bytes: writtenIn(writer), settleDueMs: settleDueMs(track, usedAtMs) }
}

/** Makes a state that continues where these bytes were packed. Throws a RangeError if they are incomplete. */
export function unpackState(bytes: Buffer, state: DeviceState): void {
  const reader = readerOf(bytes)
  state.position = readNumber(reader)
  state.newestSystemMs = readNumber(reader)
  state.usedAtMs = readNumber(reader)
  for (const kind of kinds) readSeen(reader, state.seen[kind])
  readTrack(reader, own(state.track))
}

function writeSeen(to: ByteWriter, { floorMs, newestMs, generation, sources, current, previous }: SeenTimes): void {
  writeNumber(to, floorMs)
  writeNumber(to, newestMs)
  writeNumber(to, generation)
  writeCount(to, sources.length)
  for (const source of sources) writeText(to, source)
  writeNumberList(to, current)
  writeNumberList(to, previous)
}

function readSeen(from: ByteReader, seen: SeenTimes): void {
  seen.floorMs = readNumber(from)
  seen.newestMs = readNumber(from)
  seen.generation = readNumber(from)
  seen.sources.length = readCount(from)
  for (let index = 0; index < seen.sources.length; index++) seen.sources[index] = readText(from) ?? ''
  readNumberList(from, seen.current)
  readNumberList(from, seen.previous)
  // It is made again when it is needed.
  seen.lookup = undefined
}

function readList<Item>(from: ByteReader, read: (from: ByteReader) => Item): Item[] {
  const items: Item[] = []
  for (let left = readCount(from); left > 0; left--) items.push(read(from))
  return items
}

function writeList<Item>(to: ByteWriter, items: readonly Item[], write: (to: ByteWriter, item: Item) => void): void {
  writeCount(to, items.length)
  for (const item of items) write(to, item)
}

/** A value that may be missing. */
function writeOptional<Value>(to: ByteWriter, value: Value | undefined, write: (to: ByteWriter, value: Value) => void) {
  writeByte(to, value === undefined ? 0 : 1)
  if (value !== undefined) write(to, value)
}

const readOptional = <Value>(from: ByteReader, read: (from: ByteReader) => Value): Value | undefined =>
  readByte(from) === 0 ? undefined : read(from)

const writeFlag = (to: ByteWriter, value: boolean): void => writeByte(to, value ? 1 : 0)
const readFlag = (from: ByteReader): boolean => readByte(from) === 1

function writeTrack(to: ByteWriter, track: DeviceTrack): void {
  writeByte(to, deviceClasses.indexOf(track.deviceClass))
  for (const value of [track.realignFailures, track.revision, track.settledAtMs]) writeNumber(to, value)
  writeNumber(to, track.interval.receivedAtMs)
  writeNumber(to, track.interval.everyMs)
  writeOptional(to, track.past, (_, { tsMs, lat, lon }) => {
    for (const value of [tsMs, lat, lon]) writeNumber(to, value)
  })
  writeOptional(to, track.written, (_, { arrivedAtMs, lastInsideAtMs, gap }) => {
    writeNumber(to, arrivedAtMs)
    writeNumber(to, lastInsideAtMs)
    writeFlag(to, gap)
  })
  writeOptional(to, track.unwritten, (_, { fromMs, toMs }) => {
    writeNumber(to, fromMs)
    writeNumber(to, toMs)
  })
  writeOptional(to, track.owners.present, writeOwner)
  writeOptional(to, track.owners.previous, writeOwner)
  writeList(to, track.services, writeService)
}

function readTrack(from: ByteReader, track: MutableTrack): void {
  track.deviceClass = deviceClasses[readByte(from)] ?? 'vehicle'
  track.realignFailures = readNumber(from)
  track.revision = readNumber(from)
  track.settledAtMs = readNumber(from)
  track.interval = { receivedAtMs: readNumber(from), everyMs: readNumber(from) }
  track.past = readOptional(from, () => ({ tsMs: readNumber(from), lat: readNumber(from), lon: readNumber(from) }))
  track.written = readOptional(from, () => ({
    arrivedAtMs: readNumber(from),
    lastInsideAtMs: readNumber(from),
    gap: readFlag(from),
  }))
  track.unwritten = readOptional(from, () => ({ fromMs: readNumber(from), toMs: readNumber(from) }))
  track.owners = { present: readOptional(from, readOwner), previous: readOptional(from, readOwner) }
  track.services = readList(from, readService)
  readAlignment(from, track.alignment)
}

function writeOwner(to: ByteWriter, owner: NonNullable<Owners['present']>): void {
  writeText(to, owner.organizationId)
  writeNumber(to, owner.receivedAtMs)
  writeNumber(to, owner.newestFixMs)
}

const readOwner = (from: ByteReader): NonNullable<Owners['present']> => ({
  organizationId: readText(from) ?? '',
  receivedAtMs: readNumber(from),
  newestFixMs: readNumber(from),
})

const [isUnknown, isNever, isServed] = [0, 1, 2]

function writeService(to: ByteWriter, { modem, served, sims, lostMs }: ModemService): void {
  writeText(to, modem)
  writeByte(to, served ? isServed : served === null ? isNever : isUnknown)
  if (served) {
    writeNumber(to, served.tsMs)
    writeText(to, served.plmn)
  }
  writeList(to, sims, writeSim)
  writeNumber(to, lostMs)
}

function readService(from: ByteReader): ModemService {
  const modem = readText(from)
  const tag = readByte(from)
  const known = tag === isNever ? null : undefined
  const served = tag === isServed ? { tsMs: readNumber(from), plmn: readText(from) ?? '' } : known
  return { modem, served, sims: readList(from, readSim), lostMs: readNumber(from) }
}

function writeSim(to: ByteWriter, { fromMs, iccid, simSlot }: SimUse): void {
  writeNumber(to, fromMs)
  writeText(to, iccid)
  writeNullable(to, simSlot)
}

const readSim = (from: ByteReader): SimUse => ({
  fromMs: readNumber(from),
  iccid: readText(from),
  simSlot: readNullable(from),
})

function writeAlignment(to: ByteWriter, alignment: DeviceAlignment<RadioRow>): void {
  writeNumber(to, alignment.newestReportMs)
  writeNumber(to, alignment.knownFromMs)
  writeNumber(to, alignment.droppedUntilMs)
  writeNullable(to, alignment.staleFromMs)
  writeByte(to, openDwellRows.indexOf(alignment.openDwellRows))
  writeNumberList(to, alignment.fixes)
  writeDwellState(to, alignment.dwell)
  writeList(to, alignment.closedDwells, writeDwell)
  writeRows(to, alignment.trailing)
}

function readAlignment(from: ByteReader, alignment: DeviceAlignment<RadioRow>): void {
  alignment.newestReportMs = readNumber(from)
  alignment.knownFromMs = readNumber(from)
  alignment.droppedUntilMs = readNumber(from)
  alignment.staleFromMs = readNullable(from)
  alignment.openDwellRows = openDwellRows[readByte(from)] ?? 'none'
  readNumberList(from, alignment.fixes)
  readDwellState(from, alignment.dwell)
  alignment.closedDwells = readList(from, readDwell)
  alignment.trailing = readRows(from)
}

/** An open dwell has no pending fixes, and a closed one no summary. */
function writeDwellState(to: ByteWriter, dwell: DwellState): void {
  writeCount(to, dwell.pendingFrom)
  writeFlag(to, dwell.isOpen)
  if (!dwell.isOpen) return
  writeNumber(to, dwell.arrivedAtMs)
  writeNumber(to, dwell.anchorLat)
  writeNumber(to, dwell.anchorLon)
  writeNumber(to, dwell.accuracyM)
  writeFlag(to, dwell.gap)
  writeExtent(to, dwell.extent)
}

function readDwellState(from: ByteReader, dwell: DwellState): void {
  dwell.pendingFrom = readCount(from)
  dwell.isOpen = readFlag(from)
  if (!dwell.isOpen) return
  dwell.arrivedAtMs = readNumber(from)
  dwell.anchorLat = readNumber(from)
  dwell.anchorLon = readNumber(from)
  dwell.accuracyM = readNumber(from)
  dwell.gap = readFlag(from)
  readExtent(from, dwell.extent)
}

function writeExtent(to: ByteWriter, extent: Extent): void {
  writeNumber(to, extent.originLat)
  writeNumber(to, extent.originLon)
  writeNumber(to, extent.count)
  writeNumber(to, extent.latOffsetSum)
  writeNumber(to, extent.lonOffsetSum)
  writeNumberList(to, extent.hull)
  writeNumberList(to, extent.recent)
}

function readExtent(from: ByteReader, extent: Extent): void {
  extent.originLat = readNumber(from)
  extent.originLon = readNumber(from)
  extent.count = readNumber(from)
  extent.latOffsetSum = readNumber(from)
  extent.lonOffsetSum = readNumber(from)
  readNumberList(from, extent.hull)
  readNumberList(from, extent.recent)
}

function writeDwell(to: ByteWriter, dwell: Dwell): void {
  writeNumber(to, dwell.arrivedAtMs)
  writeNullable(to, dwell.departedAtMs)
  writeNullable(to, dwell.firstOutsideAtMs)
  writeNumber(to, dwell.lastInsideAtMs)
  writeNumber(to, dwell.anchorLat)
  writeNumber(to, dwell.anchorLon)
  writeNumber(to, dwell.lat)
  writeNumber(to, dwell.lon)
  writeNumber(to, dwell.radiusM)
  writeNumber(to, dwell.fixCount)
  writeNumber(to, dwell.accuracyM)
  writeFlag(to, dwell.gap)
}

const readDwell = (from: ByteReader): Dwell => ({
  arrivedAtMs: readNumber(from),
  departedAtMs: readNullable(from),
  firstOutsideAtMs: readNullable(from),
  lastInsideAtMs: readNumber(from),
  anchorLat: readNumber(from),
  anchorLon: readNumber(from),
  lat: readNumber(from),
  lon: readNumber(from),
  radiusM: readNumber(from),
  fixCount: readNumber(from),
  accuracyM: readNumber(from),
  gap: readFlag(from),
})

/** Rows of one organization usually: it is written once for all that follow each other. */
function writeRows(to: ByteWriter, rows: readonly RadioRow[]): void {
  let organizationId = ''
  writeCount(to, rows.length)
  for (const row of rows) {
    writeText(to, row.organizationId === organizationId ? null : row.organizationId)
    organizationId = row.organizationId
    for (const text of [row.modem, row.rat, row.plmn, row.simPlmn, row.lostPlmn]) writeText(to, text)
    writeNumber(to, row.tsMs)
    writeNumber(to, row.receivedAtMs)
    for (const value of [row.lat, row.lon, row.accuracyM, row.fixAgeMs]) writeNullable(to, value)
    writeByte(to, alignments.indexOf(row.alignment))
    for (const value of [row.alignedLat, row.alignedLon, row.alignErrorM, row.alignedFixAgeMs]) writeNullable(to, value)
    writeLong(to, row.h3Res10)
    writeLong(to, row.h3Res5)
    writeCount(to, row.symbolBytes)
    writeBytes(to, row.rest)
  }
}

function readRows(from: ByteReader): RadioRow[] {
  let organizationId = ''
  return readList(from, () => {
    organizationId = readText(from) ?? organizationId
    const [modem, rat, plmn, simPlmn, lostPlmn] = [
      readText(from),
      readText(from),
      readText(from),
      readText(from),
      readText(from),
    ]
    const [tsMs, receivedAtMs] = [readNumber(from), readNumber(from)]
    const [lat, lon, accuracyM, fixAgeMs] = [
      readNullable(from),
      readNullable(from),
      readNullable(from),
      readNullable(from),
    ]
    const alignment = alignments[readByte(from)] ?? 'none'
    const [alignedLat, alignedLon, alignErrorM, alignedFixAgeMs] = [
      readNullable(from),
      readNullable(from),
      readNullable(from),
      readNullable(from),
    ]
    const [h3Res10, h3Res5] = [readLong(from), readLong(from)]
    const symbolBytes = readCount(from)
    const rest = readBytes(from)
    return {
      tsMs,
      modem,
      rat: rat as RadioRow['rat'],
      plmn,
      simPlmn,
      lostPlmn,
      lat,
      lon,
      accuracyM,
      fixAgeMs,
      alignment,
      alignedLat,
      alignedLon,
      alignErrorM,
      alignedFixAgeMs,
      h3Res10,
      h3Res5,
      organizationId,
      receivedAtMs,
      rest,
      symbolBytes,
      restBytes: rest.length,
    }
  })
}
