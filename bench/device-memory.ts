import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { PartName } from './device-memory-parts.ts'
import type { Figure } from './report.ts'

const run = promisify(execFile)
const script = fileURLToPath(new URL('device-memory-process.ts', import.meta.url))

type Measured = { bytesPerDevice: number; microsecondsPerReport: number }

type Part = { part: PartName; name: string; isAlternative?: boolean }

/** An alternative is not part of the sum. */
const groups: { name: string; target: string; parts: Part[] }[] = [
  {
    name: 'ingest with its writer, moving devices',
    target: '≤ 3,072',
    parts: [
      { part: 'writerMoving', name: 'device states of the writer' },
      { part: 'writerParked', name: 'the same, parked devices', isAlternative: true },
      { part: 'grants', name: 'device tokens' },
      { part: 'traffic', name: 'rate limits' },
    ],
  },
  {
    name: 'control plane',
    target: '≤ 1,536',
    parts: [
      { part: 'tileIndex', name: 'live map and tile index: points and one resolution' },
      { part: 'liveMap', name: 'the same without the tile index', isAlternative: true },
    ],
  },
]

/** Bytes per device of each part, after a garbage collection. */
export async function memoryFigures(devices: number): Promise<Figure[]> {
  const figures: Figure[] = []
  for (const { name, target, parts } of groups) {
    let sum = 0
    const rows: Figure[] = []
    for (const { part, name: partName, isAlternative } of parts) {
      const measured = await measure(part, devices)
      if (!isAlternative) sum += measured.bytesPerDevice
      rows.push(figureOf(partName, measured))
    }
    figures.push({ name: `${name}: bytes per device`, value: whole(sum), target }, ...rows)
  }
  return figures
}

const whole = (value: number) => Math.round(value).toLocaleString('en')

const figureOf = (name: string, { bytesPerDevice, microsecondsPerReport }: Measured): Figure => ({
  name: `— ${name}`,
  value: `${whole(bytesPerDevice)}; ${microsecondsPerReport.toFixed(1)} µs per report`,
})

/** Fills a part in its own process, so that no other part counts. */
async function measure(part: PartName, devices: number): Promise<Measured> {
  const options = ['--expose-gc', '--max-old-space-size=8192', script, part, String(devices)]
  const { stdout } = await run(process.execPath, options)
  return JSON.parse(stdout) as Measured
}
