import { medianOf } from '#telemetry/radio-health/median'
import type { RadioHealth } from '#telemetry/radio-health/radio-health'
import { type CellMedian, compareMedians, sharedCellOf } from '#test/cell-medians'
import { createDraw } from '#test/draw'
import { placedDrives } from '#test/forecast-drives'

const msPerMinute = 60_000
const msPerHour = 3_600_000
const msPerDay = 86_400_000

/** A recorded drive as radio health reads it: a vote a minute and shared cell, and the median of those in each hour. */
export type RadioDrive = { name: string; day: number; medians: CellMedian[] }

/** The medians of a drive's votes. A vote is the newest row of a minute in a cell. */
function mediansOf(name: string, rows: ReturnType<typeof placedDrives>[number]['rows']): CellMedian[] {
  const votes = new Map<string, CellMedian>()
  for (const { h3Res10, tsMs, rat, cellId, pci, arfcn, rsrpDbm } of rows) {
    if (h3Res10 === null) continue
    const hourMs = Math.floor(tsMs / msPerHour) * msPerHour
    const vote = { deviceId: name, modem: null, hourMs, h3: h3Res10.toString(16), rat, cellId, pci, arfcn, rsrpDbm }
    votes.set(`${sharedCellOf(vote)} ${Math.floor(tsMs / msPerMinute)}`, vote)
  }
  const measured = [...votes.values()].filter((vote) => vote.rsrpDbm !== null)
  return [...Map.groupBy(measured, (vote) => `${sharedCellOf(vote)} ${vote.hourMs}`).values()].flatMap((group) => {
    const [first] = group
    return first ? [{ ...first, rsrpDbm: medianOf(group.map(({ rsrpDbm }) => Number(rsrpDbm))) }] : []
  })
}

export const radioDrives = (): RadioDrive[] =>
  placedDrives().map(({ name, rows }) => ({
    name,
    day: Math.floor((rows[0]?.tsMs ?? 0) / msPerDay),
    medians: mediansOf(name, rows),
  }))

/** Joins drives of different days at random: each device has two. */
function drawFleet(drives: readonly RadioDrive[], draw: () => number): RadioDrive[][] {
  const left = drives
    .map((drive) => ({ drive, place: draw() }))
    .sort((a, b) => a.place - b.place)
    .map(({ drive }) => drive)
  const fleet: RadioDrive[][] = []
  for (let first = left.pop(); first; first = left.pop()) {
    const { day } = first
    const at = left.findIndex((drive) => drive.day !== day)
    if (at >= 0) fleet.push([first, ...left.splice(at, 1)])
  }
  return fleet
}

/** Shares of radios: weak ones that were found, others that were taken for weak, and offsets that are right within 1 dB. */
export type DriveFigures = { weak: number; healthy: number; found: number; falseAlarms: number; within1Db: number }

/** Cells in which a drive needs two other drives to be compared. */
const minMetCells = 10
/** Shared cells of the radios that are counted. */
const minCells = 20

/** The drives that cross the ways of others. A drive through another area tells nothing about its device. */
function meetingDrives(drives: readonly RadioDrive[]): Set<RadioDrive> {
  const cellsOf = (drive: RadioDrive) => new Set(drive.medians.map((median) => sharedCellOf(median)))
  const listed = drives.map((drive) => ({ drive, cells: cellsOf(drive) }))
  const isMet = (cell: string | null) => listed.filter(({ cells }) => cells.has(cell)).length > 2
  return new Set(listed.filter(({ cells }) => [...cells].filter(isMet).length >= minMetCells).map(({ drive }) => drive))
}

function healthOfFleet(fleet: readonly RadioDrive[][], weak: ReadonlySet<number>, faultDb: number): RadioHealth[] {
  const medians = fleet.flatMap((drives, device) =>
    drives.flatMap((drive) =>
      drive.medians.map((median) => ({
        ...median,
        deviceId: String(device),
        rsrpDbm: Number(median.rsrpDbm) - (weak.has(device) ? faultDb : 0),
      })),
    ),
  )
  const hours = medians.map(({ hourMs }) => hourMs / msPerHour)
  const window = { fromHour: Math.min(...hours), toHour: Math.max(...hours) + 1 }
  const radios = fleet.map((_, device) => ({ deviceId: String(device), modem: null, model: 'phone' }))
  return compareMedians(radios, medians, window)
}

/** Replays the drives as fleets in which this share of the devices, at least one, receives `faultDb` less. */
export function replayDrives(
  drives: readonly RadioDrive[],
  { fleets, weakShare, faultDb }: { fleets: number; weakShare: number; faultDb: number },
): DriveFigures {
  const met = meetingDrives(drives)
  const counts = { weak: 0, healthy: 0, found: 0, alarms: 0, within1Db: 0 }
  for (let seed = 1; seed <= fleets; seed++) {
    const fleet = drawFleet(drives, createDraw(seed))
    const counted = [...fleet.keys()].filter((device) => fleet[device]?.every((drive) => met.has(drive)))
    const weak = new Set(counted.slice(0, Math.max(1, Math.round(weakShare * fleet.length))))
    for (const { deviceId, status, offsetDb, sharedCells } of healthOfFleet(fleet, weak, faultDb)) {
      const device = Number(deviceId)
      if (offsetDb === null || sharedCells < minCells || !counted.includes(device)) continue
      const isFound = status === 'fault' || status === 'suspect'
      const isWeak = weak.has(device)
      counts[isWeak ? 'weak' : 'healthy']++
      if (isFound) counts[isWeak ? 'found' : 'alarms']++
      if (Math.abs(offsetDb + (isWeak ? faultDb : 0)) <= 1) counts.within1Db++
    }
  }
  const { weak, healthy, found, alarms, within1Db } = counts
  return {
    weak,
    healthy,
    found: found / weak,
    falseAlarms: alarms / healthy,
    within1Db: within1Db / (weak + healthy),
  }
}
