/**
 * `node libs/fleet-map/radio-health/compare.bench.ts [votes] [devices]`: CPU and memory of the worker for radio health of 10,000
 * devices with so many votes each, 7,200 by default, which are 72,000,000. The rows of QuestDB are made in this process, so that
 * neither a server nor a socket counts. Making them is measured apart. A device drives the same 1,000 places again and again.
 */

import { randomUUID } from 'node:crypto'
import type { QuestdbRows } from '#questdb/server/sql'
import { compareRadios } from './compare.ts'

const [votes, devices] = [Number(process.argv[2] ?? 7_200), Number(process.argv[3] ?? 10_000)]
const places = 500_000
const placesOfDevice = 1_000
/** Cells of resolution 10 that follow each other in one of resolution 7. */
const placesOfArea = 400
const hourMs = 3_600_000
const hours = 30 * 24
const toMs = Math.ceil(Date.now() / hourMs) * hourMs
const firstArea = 0x08a0_0000_00n

const rowsAtOnce = 800
/** Two longs, an integer, a UUID and a null, each after a length of four bytes. */
const rowBytes = 76
const deviceIds = Array.from({ length: devices }, () => randomUUID())
const templates = deviceIds.map((id) => {
  const row = Buffer.alloc(rowBytes)
  for (const [length, at] of [
    [8, 0],
    [8, 12],
    [4, 24],
    [36, 32],
    [-1, 72],
  ] as const)
    row.writeInt32BE(length, at)
  row.write(id, 36, 'latin1')
  return row
})

const placeOf = (device: number, vote: number) => (device * 50 + ((vote * 37) % placesOfDevice)) % places

function writeRow(bytes: Buffer, at: number, [device, vote, place]: [number, number, number]): void {
  templates[device]?.copy(bytes, at)
  const area = Math.floor(place / placesOfArea)
  bytes.writeUInt32BE(0x08a0_0000 + (area >>> 8), at + 4)
  bytes.writeUInt32BE(((area << 24) + ((place % placesOfArea) << 15) + 0x7fff) >>> 0, at + 8)
  bytes.writeInt32BE(Math.floor(place / 30), at + 20)
  const hour = Math.floor((vote * hours) / votes)
  const aboveDb = 90 + (place % 23) + ((device * 31 + vote * 17) % 8)
  bytes.writeInt32BE(hour * 2 ** 15 + aboveDb * 100, at + 28)
}

/** Calls `use` with the rows of places from `first` to before `end`, in order of time. */
function makeRows(first: number, end: number, use: (bytes: Buffer, at: number) => void): void {
  const bytes = Buffer.alloc(rowsAtOnce * rowBytes)
  let rows = 0
  const flush = () => {
    for (let row = 0; row < rows; row++) use(bytes, row * rowBytes)
    rows = 0
  }
  for (let vote = 0; vote < votes; vote++) {
    for (let device = 0; device < devices; device++) {
      const place = placeOf(device, vote)
      if (place < first || place >= end) continue
      writeRow(bytes, rows++ * rowBytes, [device, vote, place])
      if (rows < rowsAtOnce) continue
      flush()
    }
  }
  flush()
}

const ranges: [first: number, end: number][] = []
const placeAt = (h3: string | undefined) => Number((BigInt(h3 ?? 0) >> 24n) - firstArea) * placesOfArea
const questdb: QuestdbRows = {
  query: async () => [],
  queryArrays: async <Row extends unknown[]>(text: string) => {
    await new Promise(setImmediate)
    const votesOfArea = String(Math.round((devices * votes * placesOfArea) / places))
    const rows = text.includes('GROUP BY cell')
      ? Array.from({ length: places / placesOfArea }, (_, area) => [String(firstArea + BigInt(area)), votesOfArea])
      : deviceIds.map((id) => [id, null, String(votes)])
    return rows as Row[]
  },
  readRows: async (text, _values, readRow) => {
    const [, first, end] = /h3_10 >= (\d+) AND h3_10 < (\d+)/.exec(text) ?? []
    const range: [number, number] = [placeAt(first), placeAt(end)]
    ranges.push(range)
    makeRows(...range, readRow)
  },
  end: async () => {},
}

async function cpuSecondsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

const startMb = process.memoryUsage.rss() / 1e6
const radios = deviceIds.map((id) => ({ id, model: 'RX400', ownedFromMs: null }))
const window = { organizationId: randomUUID(), fromMs: toMs - hours * hourMs, toMs }
const both = await cpuSecondsOf(() => compareRadios(questdb, radios, window))
const mostMb = process.resourceUsage().maxRSS / 1_000
const rowsOnly = await cpuSecondsOf(async () => {
  for (const range of ranges) makeRows(...range, () => {})
})
console.log(
  `${devices} devices, ${devices * votes} votes in ${ranges.length} statements: ${(both - rowsOnly).toFixed(1)} s of CPU, and ${rowsOnly.toFixed(1)} s to make the rows; at most ${mostMb.toFixed(0)} MB in memory, of these ${startMb.toFixed(0)} MB before the start`,
)
