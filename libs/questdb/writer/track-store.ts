import type { QuestdbSql } from '#questdb/server/sql'
import type { TimeRange } from '#telemetry/position/device-alignment'
import {
  readCellularRows,
  readDwells,
  readFixReports,
  type StoredCellularRow,
  type StoredDwell,
  type StoredFixReport,
} from './device-tracks.ts'

/** The stored data of a device, in pages. A page shorter than its limit is the last one of the range. */
export type TrackStore = {
  /** Maximum sizes of pages. */
  pageSizes: { fixes: number; rows: number; dwells: number }
  /** Usable fixes, newest first. */
  fixesBackwards(range: TimeRange, limit: number): Promise<StoredFixReport[]>
  /** Usable fixes in order of time. */
  fixes(range: TimeRange, limit: number): Promise<StoredFixReport[]>
  /** RF rows in order of time. */
  rows(range: TimeRange, limit: number): Promise<StoredCellularRow[]>
  /** Dwells that began in the range, in order of arrival. */
  dwells(range: TimeRange, limit: number): Promise<StoredDwell[]>
  /** Dwells that began before a time, newest first. */
  dwellsBackwards(beforeMs: number, limit: number): Promise<StoredDwell[]>
}

/** Rows are read with their cells, which may take 10 KB each. */
const pageSizes = { fixes: 5_000, rows: 500, dwells: 1_000 }

/** Reads one device's track from QuestDB. */
export function openTrackStore(questdb: QuestdbSql, deviceId: string): TrackStore {
  const only = <Item>(found: Map<string, Item[]>): Item[] => found.get(deviceId) ?? []
  const ids = [deviceId]
  return {
    pageSizes,
    fixesBackwards: async (range, limit) =>
      only(await readFixReports(questdb, ids, range, { limit, newestFirst: true })),
    fixes: async (range, limit) => only(await readFixReports(questdb, ids, range, { limit })),
    rows: async (range, limit) => only(await readCellularRows(questdb, ids, range, { limit })),
    dwells: async (range, limit) => only(await readDwells(questdb, ids, range, { limit })),
    async dwellsBackwards(beforeMs, limit) {
      const range = { fromMs: Number.NEGATIVE_INFINITY, toMs: beforeMs }
      return only(await readDwells(questdb, ids, range, { limit, newestFirst: true }))
    },
  }
}
