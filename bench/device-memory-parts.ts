import type { FilledPart } from './device-memory-filled.ts'
import { fillGrants, fillTraffic } from './device-memory-ingest.ts'
import { fillLiveMap, fillTileIndex } from './device-memory-map.ts'
import { fillWriter } from './device-memory-writer.ts'

const parts = {
  writerMoving: (devices: number, reports: number) => fillWriter(devices, reports, 'moving'),
  writerParked: (devices: number, reports: number) => fillWriter(devices, reports, 'parked'),
  grants: fillGrants,
  traffic: fillTraffic,
  liveMap: fillLiveMap,
  tileIndex: fillTileIndex,
} satisfies Record<string, (devices: number, reports: number) => Promise<FilledPart>>

export type PartName = keyof typeof parts

/** Fills a part with the reports of some devices. */
export const fillPart = (name: PartName, devices: number, reports: number): Promise<FilledPart> =>
  parts[name](devices, reports)
