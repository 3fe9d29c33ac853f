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
  readNumbers,
  readText,
  writeByte,
  writeBytes,
  writeCount,
  writeLong,
  writeNullable,
  writeNumber,
  writeNumbers,
  writeText,
  writtenIn,
} from '#core/byte-record'
import type { Extent } from '#telemetry/geo/extent'
import type { Point } from '#telemetry/geo/geo'
import type { DeviceAlignmentState } from '#telemetry/position/device-alignment'
import type { DistinctFix } from '#telemetry/position/distinct-fixes'
import { type Dwell, deviceClasses } from '#telemetry/position/dwell'
import type { DwellState } from '#telemetry/position/dwell-detector'
import type { ModemService, SimUse } from '#telemetry/position/lost-operator'
import { kinds } from '#telemetry/report/fields'
import { alignments } from '#telemetry/report/rows'
import type { RadioRow } from '#telemetry/rows/radio-row'
import { continueTrack, type IdleTrack, idleTrack, settleDueMs } from '#telemetry-writer/tracks/device-track'
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
  const idle = idleTrack(track)
  if (!idle) return undefined
  writer.at = 0
  writeNumber(writer, position)
  writeNumber(writer, newestSystemMs)
  writeNumber(writer, usedAtMs)
  for (const kind of kinds) writeSeen(writer, seen[kind])
  writeTrack(writer, idle)
  writeAlignment(writer, idle.alignment)
  return { bytes: writtenIn(writer), settleDueMs: settleDueMs(track, usedAtMs) }
}

/** Returns a state that continues where these bytes were packed. Throws a RangeError if they are incomplete. */
export function unpackState(bytes: Buffer): DeviceState {
  const reader = readerOf(bytes)
  const [position, newestSystemMs, usedAtMs] = [readNumber(reader), readNumber(reader), readNumber(reader)]
  const seen = {
    cellular: readSeen(reader),
    connection: readSeen(reader),
    location: readSeen(reader),
    system: readSeen(reader),
  }
  return { position, seen, track: continueTrack(readTrack(reader)), newestSystemMs, usedAtMs }
}

function writeSeen(to: ByteWriter, { floorMs, newestMs, generation, sources, current, previous }: SeenTimes): void {
  writeNumber(to, floorMs)
  writeNumber(to, newestMs)
  writeNumber(to, generation)
  writeCount(to, sources.length)
  for (const source of sources) writeText(to, source)
  writeNumbers(to, current)
  writeNumbers(to, previous)
}

function readSeen(from: ByteReader): SeenTimes {
  const [floorMs, newestMs, generation] = [readNumber(from), readNumber(from), readNumber(from)]
  const sources = readList(from, () => readText(from) ?? '')
  // A lookup is made again when it is needed.
  return {
    floorMs,
    newestMs,
    generation,
    sources,
    current: readNumbers(from),
    previous: readNumbers(from),
    lookup: undefined,
  }
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

function writeTrack(to: ByteWriter, track: IdleTrack): void {
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

function readTrack(from: ByteReader): IdleTrack {
  const deviceClass = deviceClasses[readByte(from)] ?? 'vehicle'
  const [realignFailures, revision, settledAtMs] = [readNumber(from), readNumber(from), readNumber(from)]
  const interval = { receivedAtMs: readNumber(from), everyMs: readNumber(from) }
  const past = readOptional(from, () => ({ tsMs: readNumber(from), lat: readNumber(from), lon: readNumber(from) }))
  const written = readOptional(from, () => ({
    arrivedAtMs: readNumber(from),
    lastInsideAtMs: readNumber(from),
    gap: readFlag(from),
  }))
  const unwritten = readOptional(from, () => ({ fromMs: readNumber(from), toMs: readNumber(from) }))
  const owners = { present: readOptional(from, readOwner), previous: readOptional(from, readOwner) }
  const services = readList(from, readService)
  const alignment = readAlignment(from)
  const times = { realignFailures, revision, settledAtMs, interval }
  return { deviceClass, ...times, past, written, unwritten, owners, services, alignment }
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

const openDwellRows = ['none', 'settled', 'stale'] as const

function writeAlignment(to: ByteWriter, state: DeviceAlignmentState<RadioRow>): void {
  writeNumber(to, state.newestReportMs)
  writeNumber(to, state.knownFromMs)
  writeNumber(to, state.droppedUntilMs)
  writeNullable(to, state.staleFromMs)
  writeByte(to, openDwellRows.indexOf(state.openDwellRows))
  writeList(to, state.fixes, writeFix)
  writeDwellState(to, state.dwell, state.fixes)
  writeList(to, state.closedDwells, writeDwell)
  writeRows(to, state.trailing)
}

function readAlignment(from: ByteReader): DeviceAlignmentState<RadioRow> {
  const [newestReportMs, knownFromMs, droppedUntilMs] = [readNumber(from), readNumber(from), readNumber(from)]
  const staleFromMs = readNullable(from)
  const written = openDwellRows[readByte(from)] ?? 'none'
  const fixes = readList(from, readFix)
  const dwell = readDwellState(from, fixes)
  const closedDwells = readList(from, readDwell)
  const times = { newestReportMs, knownFromMs, droppedUntilMs, staleFromMs }
  return { ...times, openDwellRows: written, fixes, dwell, closedDwells, trailing: readRows(from) }
}

function writeFix(to: ByteWriter, fix: DistinctFix): void {
  writeNumber(to, fix.lat)
  writeNumber(to, fix.lon)
  writeNumber(to, fix.timeMs)
  writeNumber(to, fix.firstReportMs)
  writeNumber(to, fix.lastReportMs)
  writeNumber(to, fix.accuracyM)
  writeNullable(to, fix.speedMps)
  writeNullable(to, fix.headingDeg)
  writeFlag(to, fix.gap)
}

const readFix = (from: ByteReader): DistinctFix => ({
  lat: readNumber(from),
  lon: readNumber(from),
  timeMs: readNumber(from),
  firstReportMs: readNumber(from),
  lastReportMs: readNumber(from),
  accuracyM: readNumber(from),
  speedMps: readNullable(from),
  headingDeg: readNullable(from),
  gap: readFlag(from),
})

/** Most pending fixes are the newest fixes of the device: only their number is written. */
function writeDwellState(to: ByteWriter, { pending, open }: DwellState, fixes: readonly DistinctFix[]): void {
  let shared = 0
  while (shared < pending.length && shared < fixes.length && pending.at(-1 - shared) === fixes.at(-1 - shared)) shared++
  writeCount(to, shared)
  writeList(to, pending.slice(0, pending.length - shared), writeFix)
  writeOptional(to, open ?? undefined, (_, { anchor, last, extent, accuracyM, gap }) => {
    writeFix(to, anchor)
    writeOptional(to, last === fixes.at(-1) ? undefined : last, writeFix)
    writeExtent(to, extent)
    writeNumber(to, accuracyM)
    writeFlag(to, gap)
  })
}

function readDwellState(from: ByteReader, fixes: readonly DistinctFix[]): DwellState {
  const shared = readCount(from)
  const pending = [...readList(from, readFix), ...fixes.slice(fixes.length - shared)]
  const open = readOptional(from, () => {
    const anchor = readFix(from)
    const last = readOptional(from, readFix) ?? fixes.at(-1) ?? anchor
    return { anchor, last, extent: readExtent(from), accuracyM: readNumber(from), gap: readFlag(from) }
  })
  return { pending, open: open ?? null }
}

function writePoint(to: ByteWriter, { lat, lon }: Point): void {
  writeNumber(to, lat)
  writeNumber(to, lon)
}

const readPoint = (from: ByteReader): Point => ({ lat: readNumber(from), lon: readNumber(from) })

function writeExtent(to: ByteWriter, { origin, count, latOffsetSum, lonOffsetSum, hull, recent }: Extent): void {
  writePoint(to, origin)
  writeNumber(to, count)
  writeNumber(to, latOffsetSum)
  writeNumber(to, lonOffsetSum)
  writeList(to, hull, writePoint)
  writeList(to, recent, writePoint)
}

const readExtent = (from: ByteReader): Extent => ({
  origin: readPoint(from),
  count: readNumber(from),
  latOffsetSum: readNumber(from),
  lonOffsetSum: readNumber(from),
  hull: readList(from, readPoint),
  recent: readList(from, readPoint),
})

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
