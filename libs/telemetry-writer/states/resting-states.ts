import { createByteStore } from '#core/byte-store'
import { kinds } from '#telemetry/report/fields'
import type { LogPosition } from '#telemetry-log/log'
import { createDeviceState, type DeviceState } from './device-state.ts'
import { packState, unpackState } from './packed-states.ts'
import type { KeptState, StateChange } from './state-blocks.ts'
import type { StateFile } from './state-file.ts'

/** The packed states of devices between two reports, outside of the JavaScript heap. */
export type RestingStates = {
  size(): number
  has(deviceId: string): boolean
  /**
   * Packs and keeps a state. Returns whether it did: a state with work must stay in memory as it is. The object of a packed state
   * becomes another one, so it must not be used any more.
   */
  put(deviceId: string, state: DeviceState, packedAtMs: number): boolean
  /** Unpacks the state of a device and removes it. `packedAtMs` is -Infinity for a state of an earlier process. */
  take(deviceId: string): { state: DeviceState; packedAtMs: number } | undefined
  /** Devices that have something to settle at this time. Each iteration continues where the last one ended. */
  due(nowMs: number): Generator<string>
  /** Removes states that were not used since this time. */
  evict(usedSinceMs: number): void
  /** Calls `tidy` of the file. */
  tidyFile(monotonicMs: number): void
}

/** The file of the states, and the position before which a state of the file must be: later reports are processed again. */
export type KeptStates = { file: StateFile; before: LogPosition }

const firstRows = 1_024
const noRecord = -1
const fromEarlierProcess = Number.NEGATIVE_INFINITY

type Columns = Record<'position' | 'packedAtMs' | 'usedAtMs' | 'settleDueMs', Float64Array> & { record: Int32Array }

const columnsOf = (rows: number): Columns => ({
  record: new Int32Array(rows).fill(noRecord),
  position: new Float64Array(rows),
  packedAtMs: new Float64Array(rows),
  usedAtMs: new Float64Array(rows),
  settleDueMs: new Float64Array(rows),
})

/** Objects of states that were packed, for the next ones: more than a group of reports needs, without those that grew large. */
const mostSpare = 512
/** 96 KiB. */
const mostSpareNumbers = 12_288

/** The numbers for which a state has memory, apart from the outline of its dwell, which is limited. */
function capacityOf({ seen, track }: DeviceState): number {
  let numbers = track.alignment.fixes.numbers.length
  for (const kind of kinds) numbers += seen[kind].current.numbers.length + seen[kind].previous.numbers.length
  return numbers
}

/** What a state takes in the file beside its packed bytes: its device, and what `KeptState` tells. */
const factBytes = 66

/**
 * A device keeps its row in the columns when its state is taken, because it usually returns. With `kept`, begins with the states
 * of the file, and the file follows all changes.
 */
// Long because each part moves packed states between the same blocks.
export function createRestingStates(kept?: KeptStates): RestingStates {
  const rows = new Map<string, number>()
  const deviceIds: (string | undefined)[] = []
  const freeRows: number[] = []
  let store = createByteStore()
  let columns = columnsOf(firstRows)
  const spare: DeviceState[] = []
  let size = 0
  let packedBytes = 0
  let dueRow = 0

  function grow(): void {
    const larger = columnsOf(2 * columns.record.length)
    for (const name of Object.keys(columns) as (keyof Columns)[]) larger[name].set(columns[name])
    columns = larger
  }

  function rowOf(deviceId: string): number {
    const known = rows.get(deviceId)
    if (known !== undefined) return known
    const row = freeRows.pop() ?? deviceIds.length
    if (row === columns.record.length) grow()
    deviceIds[row] = deviceId
    rows.set(deviceId, row)
    return row
  }

  /** Removes the packed state of a row. Returns whether it had one. */
  function clear(row: number): boolean {
    const record = columns.record[row] ?? noRecord
    if (record === noRecord) return false
    packedBytes -= store.read(record).length
    store.free(record)
    columns.record[row] = noRecord
    size -= 1
    return true
  }

  function place({ deviceId, position, usedAtMs, settleDueMs, packed }: KeptState, packedAtMs: number): void {
    const row = rowOf(deviceId)
    clear(row)
    columns.record[row] = store.put(packed)
    columns.position[row] = position
    columns.packedAtMs[row] = packedAtMs
    columns.usedAtMs[row] = usedAtMs
    columns.settleDueMs[row] = settleDueMs
    packedBytes += packed.length
    size += 1
  }

  function remove(deviceId: string, row: number): void {
    if (clear(row)) kept?.file.add({ kind: 'remove', deviceId })
  }

  function* present(): Generator<StateChange> {
    for (let row = 0; row < deviceIds.length; row++) {
      const [deviceId, record] = [deviceIds[row], columns.record[row] ?? noRecord]
      if (deviceId === undefined || record === noRecord) continue
      const [position = 0, usedAtMs = 0] = [columns.position[row], columns.usedAtMs[row]]
      const settleDueMs = columns.settleDueMs[row] ?? 0
      yield { kind: 'put', state: { deviceId, position, usedAtMs, settleDueMs, packed: store.read(record) } }
    }
  }

  /** Reads the file. */
  function load({ file, before }: KeptStates): void {
    const visit = (change: StateChange): void => {
      if (change.kind === 'put') place(change.state, fromEarlierProcess)
      else clear(rowOf(change.deviceId))
    }
    if (!file.load(visit)) {
      store = createByteStore()
      columns = columnsOf(firstRows)
      rows.clear()
      deviceIds.length = 0
      size = 0
      packedBytes = 0
      return
    }
    for (const [deviceId, row] of rows) if ((columns.position[row] ?? 0) > before) remove(deviceId, row)
  }

  if (kept) load(kept)

  return {
    size: () => size,
    has(deviceId) {
      const row = rows.get(deviceId)
      return row !== undefined && columns.record[row] !== noRecord
    },
    put(deviceId, state, packedAtMs) {
      const packed = packState(state)
      if (!packed) return false
      const { position, usedAtMs } = state
      const { bytes, settleDueMs } = packed
      const resting = { deviceId, position, usedAtMs, settleDueMs, packed: bytes }
      place(resting, packedAtMs)
      kept?.file.add({ kind: 'put', state: resting })
      if (spare.length < mostSpare && capacityOf(state) <= mostSpareNumbers) spare.push(state)
      return true
    },
    take(deviceId) {
      const row = rows.get(deviceId)
      const record = row === undefined ? noRecord : columns.record[row]
      if (row === undefined || record === undefined || record === noRecord) return undefined
      const state = spare.pop() ?? createDeviceState()
      unpackState(store.read(record), state)
      remove(deviceId, row)
      return { state, packedAtMs: columns.packedAtMs[row] ?? 0 }
    },
    *due(nowMs) {
      for (let left = deviceIds.length; left > 0; left--) {
        dueRow = (dueRow + 1) % deviceIds.length
        const { record, settleDueMs } = columns
        const deviceId = deviceIds[dueRow]
        const isResting = record[dueRow] !== noRecord && deviceId !== undefined
        if (isResting && nowMs >= (settleDueMs[dueRow] ?? 0)) yield deviceId
      }
    },
    evict(usedSinceMs) {
      for (const [deviceId, row] of rows) {
        if ((columns.usedAtMs[row] ?? 0) >= usedSinceMs) continue
        remove(deviceId, row)
        rows.delete(deviceId)
        deviceIds[row] = undefined
        freeRows.push(row)
      }
    },
    tidyFile(monotonicMs) {
      kept?.file.tidy(monotonicMs, packedBytes + size * factBytes, present)
    },
  }
}
