import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { LogFullError } from '#telemetry-log/log'
import { openSegmentLog } from '#telemetry-log/segment-log'
import { openSegmentReader } from '#telemetry-log/segment-reader'
import { mountSmallDisk, NoSmallDiskError } from '#test/small-disk'
import { until } from '#test/until'
import { type Fault, type Finding, SkipFault } from './fault.ts'
import { startReportLoad } from './report-load.ts'
import { openScene } from './scene.ts'

const mebibyte = 1024 ** 2

/** The log's disk fills up: reports are refused and never acknowledged, and taken again when there is room. */
export const diskFull: Fault = {
  name: 'disk-full',
  async run() {
    const small = newSmallDisk(2)
    const large = newSmallDisk(160)
    try {
      return [...(await fillLog(small.folder)), ...(await fillUnderLoad(large.folder))]
    } finally {
      small.remove()
      large.remove()
    }
  },
}

function newSmallDisk(mebibytes: number): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), 'routerfleet-disk-'))
  try {
    return { folder, remove: mountSmallDisk(folder, mebibytes) }
  } catch (error) {
    throw error instanceof NoSmallDiskError ? new SkipFault(error.message) : error
  }
}

/** The log itself, up to the last byte of its disk. */
async function fillLog(folder: string): Promise<Finding[]> {
  const filler = join(folder, 'filler')
  writeFileSync(filler, Buffer.alloc(mebibyte))
  const log = await openSegmentLog({ folder: join(folder, 'log') })
  let kept = 0
  let refused = 0
  const append = () =>
    log
      .append({
        deviceId: '01890000-0000-7000-8000-0000000000aa',
        organizationId: '01890000-0000-7000-8000-0000000000bb',
        deviceClass: 'vehicle',
        receivedAtMs: Date.now(),
        oldestTsMs: 0,
        format: 'json',
        sampleCount: 1,
        body: Buffer.alloc(10_000, 'x'),
      })
      .then(
        () => (kept += 1),
        (error: unknown) => {
          if (!(error instanceof LogFullError)) throw error
          refused += 1
        },
      )
  for (let index = 0; index < 40; index++) await Promise.all([append(), append(), append(), append()])
  const [keptWhenFull, refusedWhenFull] = [kept, refused]
  rmSync(filler)
  for (let index = 0; index < 10; index++) await append()
  const reader = openSegmentReader({ folder: join(folder, 'log'), from: 0, onDamage: () => {} })
  let found = 0
  for (let chunk = reader.read(log.tail().position, 1); chunk.length > 0; chunk = reader.read(log.tail().position, 1)) {
    found += chunk.length
  }
  reader.close()
  await log.close()
  return [
    {
      what: 'a full disk refuses',
      held: refusedWhenFull > 0,
      detail: `${keptWhenFull} kept, ${refusedWhenFull} refused`,
    },
    { what: 'room makes it go on', held: kept === keptWhenFull + 10, detail: `${kept - keptWhenFull} of 10` },
    { what: 'what was acknowledged is there', held: found === kept, detail: `${kept} acknowledged, ${found} found` },
  ]
}

/** Ingest on a disk that somebody else fills. */
async function fillUnderLoad(folder: string): Promise<Finding[]> {
  const scene = await openScene(10, async (place) => ({ ...place, logDir: join(folder, 'log') }))
  try {
    const load = startReportLoad(scene.ingest.url, scene.devices)
    await until('reports are accepted', async () => load.accepted() > 0)
    const filler = join(folder, 'filler')
    writeFileSync(filler, Buffer.alloc(100 * mebibyte))
    await until(
      'the device edge is unready',
      async () => (await fetch(`${scene.ingest.url}/readyz`)).status === 503,
      10_000,
    )
    const before = load.accepted()
    await delay(1_000)
    const grown = load.accepted() - before
    rmSync(filler)
    await until('reports are accepted again', async () => load.accepted() > before + grown, 20_000)
    await load.finish()
    return [
      { what: 'nothing is acknowledged without room', held: grown === 0, detail: `${grown} samples` },
      { what: 'only 202 and 503', held: load.unexpected().length === 0, detail: `${load.unexpected()[0] ?? 'yes'}` },
      ...(await scene.verify(load.accepted())),
    ]
  } finally {
    await scene.close()
  }
}
