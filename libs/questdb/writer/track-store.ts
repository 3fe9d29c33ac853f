import type { QuestdbSql } from '#questdb/server/sql'
import type { TimeRange } from '#telemetry/position/device-alignment'
import type { StoredService } from '#telemetry/position/lost-operator'
import type { RadioRow } from '#telemetry/rows/radio-row'
import {
  readCellularRows,
  readDwells,
  readFixReports,
  type StoredDwell,
  type StoredFixReport,
} from './device-tracks.ts'
import { readServices } from './modem-services.ts'

/** The stored data of a device, in pages. A page shorter than its limit is the last one of the range. */
export type TrackStore = {
  /** Maximum sizes of pages. */
  pageSizes: { fixes: number; rows: number; dwells: number }
  /** Usable fixes, newest first. */
  fixesBackwards(range: TimeRange, limit: number): Promise<StoredFixReport[]>
  /** Usable fixes in order of time. */
  fixes(range: TimeRange, limit: number): Promise<StoredFixReport[]>
  /** RF rows of all modems in order of time. All rows of its last millisecond are in a page, even beyond the limit. */
  rows(range: TimeRange, limit: number): Promise<RadioRow[]>
  /** The service of each modem before the range, and its SIMs from a day before the range to its end. */
  services(range: TimeRange): Promise<StoredService[]>
  /** Dwells that began in the range, in order of arrival. */
  dwells(range: TimeRange, limit: number): Promise<StoredDwell[]>
  /** Dwells that began before a time, newest first. */
  dwellsBackwards(beforeMs: number, limit: number): Promise<StoredDwell[]>
}

/** Rows are read with their cells, which may take 10 KB each. */
/** More modems than a router reports at once. */
const modemsAtMost = 1_000
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
    async rows(range, limit) {
      const page = only(await readCellularRows(questdb, ids, range, { limit }))
      const last = page.at(-1)
      if (page.length < limit || last === undefined) return page
      const atLast = { fromMs: last.tsMs, toMs: last.tsMs }
      const ofLast = only(await readCellularRows(questdb, ids, atLast, { limit: modemsAtMost }))
      return [...page.filter(({ tsMs }) => tsMs < last.tsMs), ...ofLast]
    },
    services: (range) => readServices(questdb, deviceId, range),
    dwells: async (range, limit) => only(await readDwells(questdb, ids, range, { limit })),
    async dwellsBackwards(beforeMs, limit) {
      const range = { fromMs: Number.NEGATIVE_INFINITY, toMs: beforeMs }
      return only(await readDwells(questdb, ids, range, { limit, newestFirst: true }))
    },
  }
}
