import type { Arrival, StoredDwell } from '#questdb/writer/device-tracks'
import type { TrackStore } from '#questdb/writer/track-store'
import type { TimeRange } from '#telemetry/position/device-alignment'
import { type Dwell, dwellId } from '#telemetry/position/dwell'
import { type DwellRow, dwellRow } from '#telemetry-writer/tracks/dwell-row'
import { nothing, originOf, type Realigned, type Slices } from '#telemetry-writer/tracks/realign-range'

type FoundDwells = { dwells: readonly Dwell[]; origins: ReadonlyMap<number, Arrival> }

/** Runs `rewriteDwells` in one slice, for the newest dwells, which the track may write again after the slice. */
export async function rewriteDwellsNow(
  store: TrackStore,
  deviceId: string,
  range: TimeRange,
  found: FoundDwells,
): Promise<Realigned['dwells']> {
  const rewritten: Realigned['dwells'] = []
  for await (const { dwells } of rewriteDwells(store, deviceId, range, found)) rewritten.push(...dwells)
  return rewritten
}

/** Writes the found dwells that arrived in the range and withdraws stored dwells that were not found. */
export async function* rewriteDwells(
  store: TrackStore,
  deviceId: string,
  range: TimeRange,
  found: FoundDwells,
): Slices<void> {
  const { dwells: dwellsPerPage } = store.pageSizes
  const isInRange = ({ arrivedAtMs }: Dwell) => arrivedAtMs >= range.fromMs && arrivedAtMs <= range.toMs
  const missing = new Map(found.dwells.filter(isInRange).map((dwell) => [dwell.arrivedAtMs, dwell]))
  for (let fromMs = range.fromMs; ; ) {
    const page = await store.dwells({ fromMs, toMs: range.toMs }, dwellsPerPage)
    const rewritten = nothing()
    for (const stored of page) {
      const dwell = missing.get(stored.arrivedAtMs)
      missing.delete(stored.arrivedAtMs)
      addDwell(rewritten, deviceId, stored, dwell)
    }
    yield rewritten
    const last = page.at(-1)
    if (page.length < dwellsPerPage || last === undefined) break
    fromMs = last.arrivedAtMs + 1
  }
  let added = nothing()
  for (const dwell of missing.values()) {
    const origin =
      found.origins.get(dwell.arrivedAtMs) ??
      (await store.fixes({ fromMs: dwell.arrivedAtMs, toMs: Number.POSITIVE_INFINITY }, 1))[0]
    if (origin) added.dwells.push({ row: dwellRow(deviceId, dwell), origin: originOf(deviceId, origin) })
    if (added.dwells.length < dwellsPerPage) continue
    yield added
    added = nothing()
  }
  yield added
}

function addDwell(to: Realigned, deviceId: string, stored: StoredDwell, dwell: Dwell | undefined): void {
  const origin = originOf(deviceId, stored)
  if (dwell) to.dwells.push({ row: dwellRow(deviceId, dwell), origin })
  else if (!stored.withdrawn) to.dwells.push({ row: withdrawnRow(deviceId, stored.arrivedAtMs), origin })
}

const withdrawnRow = (deviceId: string, arrivedAtMs: number): DwellRow => ({
  tsMs: arrivedAtMs,
  id: dwellId(deviceId, arrivedAtMs),
  departedAtMs: null,
  firstOutsideAtMs: null,
  lastInsideAtMs: arrivedAtMs,
  lat: 0,
  lon: 0,
  radiusM: 0,
  fixCount: 0,
  accuracyM: 0,
  anchorLat: 0,
  anchorLon: 0,
  gap: false,
  withdrawn: true,
})
