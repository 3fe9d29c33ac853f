import { createByteStore } from '#core/byte-store'
import type { DeviceState } from './device-state.ts'
import { createStatePacker } from './packed-states.ts'

/** The packed states of devices between two reports, outside of the JavaScript heap. */
export type RestingStates = {
  size(): number
  has(deviceId: string): boolean
  /** Packs and keeps a state. Returns whether it did: a state with work must stay in memory as it is. */
  put(deviceId: string, state: DeviceState, packedAtMs: number): boolean
  /** Unpacks the state of a device and removes it. */
  take(deviceId: string): { state: DeviceState; packedAtMs: number } | undefined
  /** Devices that have something to settle at this time. Each iteration continues where the last one ended. */
  due(nowMs: number): Generator<string>
  /** Removes states that were not used since this time. */
  evict(usedSinceMs: number): void
}

const firstRows = 1_024
const noRecord = -1

type Columns = { record: Int32Array; packedAtMs: Float64Array; usedAtMs: Float64Array; settleDueMs: Float64Array }

const columnsOf = (rows: number): Columns => ({
  record: new Int32Array(rows).fill(noRecord),
  packedAtMs: new Float64Array(rows),
  usedAtMs: new Float64Array(rows),
  settleDueMs: new Float64Array(rows),
})

/** A device keeps its row in the columns when its state is taken, because it usually returns. */
export function createRestingStates(): RestingStates {
  const packer = createStatePacker()
  const store = createByteStore()
  const rows = new Map<string, number>()
  const deviceIds: (string | undefined)[] = []
  const freeRows: number[] = []
  let columns = columnsOf(firstRows)
  let size = 0
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

  /** Removes the packed state of a row, if it has one. */
  function clear(row: number): void {
    const record = columns.record[row] ?? noRecord
    if (record === noRecord) return
    store.free(record)
    columns.record[row] = noRecord
    size -= 1
  }

  return {
    size: () => size,
    has(deviceId) {
      const row = rows.get(deviceId)
      return row !== undefined && columns.record[row] !== noRecord
    },
    put(deviceId, state, packedAtMs) {
      const packed = packer.pack(state)
      if (!packed) return false
      const row = rowOf(deviceId)
      clear(row)
      columns.record[row] = store.put(packed.bytes)
      columns.packedAtMs[row] = packedAtMs
      columns.usedAtMs[row] = state.usedAtMs
      columns.settleDueMs[row] = packed.settleDueMs
      size += 1
      return true
    },
    take(deviceId) {
      const row = rows.get(deviceId)
      const record = row === undefined ? noRecord : columns.record[row]
      if (row === undefined || record === undefined || record === noRecord) return undefined
      const state = packer.unpack(store.read(record))
      clear(row)
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
        clear(row)
        rows.delete(deviceId)
        deviceIds[row] = undefined
        freeRows.push(row)
      }
    },
  }
}
