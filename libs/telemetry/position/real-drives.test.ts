import { expect, it } from 'vitest'
import { distanceM } from '#telemetry/geo/geo'
import type { CellularRow } from '#telemetry/report/rows'
import { drivesMissing, readDrives } from '#test/drives'
import { cleanDrive, holdOut, holdOutFigures } from '#test/hold-out'
import { cellularRow } from '#test/tracks'
import { align } from './align.ts'
import { alignReport } from './align-report.ts'
import { createDeviceAlignment } from './device-alignment.ts'
import { distinctFixes } from './distinct-fixes.ts'
import { dwellPolicies } from './dwell.ts'

const policy = dwellPolicies.vehicle
it('predicts held-out fixes of real drives', ({ skip }) => {
  if (drivesMissing) return skip(drivesMissing)
  const errorsM: number[] = []
  const carriedErrorsM: number[] = []
  let covered = 0
  for (const drive of readDrives()) {
    const { kept, dropped } = holdOut(cleanDrive(drive).reports)
    const keptFixes = distinctFixes(kept)
    const { rows } = align(
      kept,
      dropped.map(({ timeMs }) => cellularRow(timeMs)),
      policy,
    )
    for (const [index, truth] of dropped.entries()) {
      const row = rows[index]
      const before = keptFixes.findLast(({ timeMs }) => timeMs <= truth.timeMs)
      if (row?.alignedLat == null || row.alignedLon === null || row.alignErrorM === null || before === undefined) {
        throw new Error('a fix between two others was not predicted')
      }
      const errorM = distanceM(truth, { lat: row.alignedLat, lon: row.alignedLon })
      errorsM.push(errorM)
      carriedErrorsM.push(distanceM(truth, before))
      if (errorM <= row.alignErrorM) covered++
    }
  }
  const { p50M: carriedForwardP50M, p90M: carriedForwardP90M } = holdOutFigures(carriedErrorsM, 0)
  const figures = { ...holdOutFigures(errorsM, covered), carriedForwardP50M, carriedForwardP90M }
  console.log('hold-out of real drives', figures)
  expect(figures.positions).toBeGreaterThan(300)
  expect(figures.p50M).toBeLessThanOrEqual(11.8)
  expect(figures.p90M).toBeLessThanOrEqual(34)
  expect(figures.withinAlignErrorShare).toBeGreaterThanOrEqual(0.9)
  expect(figures.withinAlignErrorShare).toBeLessThanOrEqual(0.99)
})

it('cleans what real radios write for "no value"', ({ skip }) => {
  if (drivesMissing) return skip(drivesMissing)
  const sentinels = new Set([-200, 2_147_483_647])
  for (const drive of readDrives()) {
    const values = cleanDrive(drive).samples.flatMap((row) => Object.values(row))
    expect(values.filter((value) => value === '-' || (typeof value === 'number' && sentinels.has(value)))).toEqual([])
  }
})

it('aligns real drives second by second as it does at once, and finds their stays', ({ skip }) => {
  if (drivesMissing) return skip(drivesMissing)
  for (const drive of readDrives()) {
    const { reports, samples } = cleanDrive(drive)
    const alignment = createDeviceAlignment<CellularRow>()
    const stored = new Map<number, CellularRow>()
    const closed = []
    let open = null
    for (let index = 0; index < samples.length; index++) {
      const row = samples[index]
      if (row === undefined) continue
      const step = alignReport(
        alignment,
        policy,
        reports.filter(({ tsMs }) => tsMs === row.tsMs),
        [row],
      )
      for (const written of step.rows) stored.set(written.tsMs, written)
      closed.push(...step.closed)
      open = step.open
    }
    const { rows, dwells } = align(reports, samples, policy)
    expect(open === null ? closed : [...closed, open]).toEqual(dwells)
    const isOpenDwell = ({ tsMs }: CellularRow) => open !== null && tsMs >= open.arrivedAtMs
    const closedDwellOfManyFixes = ({ tsMs }: CellularRow) =>
      dwells.some((dwell) => dwell.fixCount > 1 && tsMs >= dwell.arrivedAtMs && tsMs <= dwell.lastInsideAtMs)
    // Rows inside a dwell are placed again once its centre is known; that is the realignment's work.
    const settled = rows.filter((row) => !isOpenDwell(row) && !closedDwellOfManyFixes(row))
    expect(settled.map(({ tsMs }) => stored.get(tsMs))).toEqual(settled)
    const stays = dwells.map(({ lat, lon, arrivedAtMs, lastInsideAtMs, radiusM }) => ({
      place: `${lat.toFixed(5)} ${lon.toFixed(5)}`,
      minutes: Number(((lastInsideAtMs - arrivedAtMs) / 60_000).toFixed(1)),
      radiusM: Math.round(radiusM),
    }))
    console.log(drive.name, stays)
  }
})
