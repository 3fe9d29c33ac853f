import { randomBytes } from 'node:crypto'
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { folderBytes, freeBytes } from '#telemetry-log/checkpoints/folder-bytes'
import { LogFullError } from '#telemetry-log/log'
import { openSegmentLog } from '#telemetry-log/segments/segment-log'
import { openSegmentReader } from '#telemetry-log/segments/segment-reader'
import { mountSmallDisk, NoSmallDiskError } from '#test/small-disk'
import { figuresOf } from '#test/stored-telemetry'
import { until } from '#test/until'
import { type Fault, type Finding, SkipFault } from './fault.ts'
import { startReportLoad } from './report-load.ts'
import { openScene } from './scene.ts'
import { sendReport } from './send-report.ts'

const mebibyte = 1024 ** 2

/** The disk of the log fills up: ingest rejects reports, does not acknowledge them, and accepts again when there is space. */
export const diskFull: Fault = {
  name: 'disk-full',
  async run() {
    const small = newSmallDisk(2)
    const large = newSmallDisk(160)
    const larger = newSmallDisk(256)
    try {
      return [
        ...(await fillLog(small.folder)),
        ...(await fillUnderLoad(large.folder)),
        ...(await fillWhileStored(larger.folder)),
      ]
    } finally {
      for (const disk of [small, large, larger]) disk.remove()
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

/** Appends to the log until its disk is full. */
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
      what: 'reports are rejected on a full disk',
      held: refusedWhenFull > 0,
      detail: `${keptWhenFull} kept, ${refusedWhenFull} refused`,
    },
    {
      what: 'reports are accepted when there is space',
      held: kept === keptWhenFull + 10,
      detail: `${kept - keptWhenFull} of 10`,
    },
    {
      what: 'acknowledged samples are in the log',
      held: found === kept,
      detail: `${kept} acknowledged, ${found} found`,
    },
  ]
}

/** Ingest on a disk that another process fills. */
async function fillUnderLoad(folder: string): Promise<Finding[]> {
  const scene = await openScene(10, async (place) => ({ ...place, logDir: join(folder, 'log') }))
  try {
    const load = startReportLoad(scene.ingest.url, scene.devices)
    await until('reports are accepted', async () => load.accepted() > 0)
    const filler = join(folder, 'filler')
    writeFileSync(filler, Buffer.alloc(100 * mebibyte))
    await until(
      'the device edge is unready',
      async () => (await fetch(`${scene.ingest.url}/readyz`).catch(() => undefined))?.status === 503,
      10_000,
    )
    // Reports that were acknowledged just before may still be on their way back.
    const refused = load.repeats()
    await until('reports are refused', async () => load.repeats() >= refused + 3 * scene.devices.length)
    const before = load.accepted()
    await delay(1_000)
    const grown = load.accepted() - before
    rmSync(filler)
    await until('reports are accepted again', async () => load.accepted() > before + grown, 20_000)
    await load.finish()
    return [
      { what: 'no sample is acknowledged without space', held: grown === 0, detail: `${grown} samples` },
      { what: 'only 202 and 503', held: load.unexpected().length === 0, detail: `${load.unexpected()[0] ?? 'yes'}` },
      ...(await scene.verify(load.accepted())),
    ]
  } finally {
    await scene.close()
  }
}

/** Ingest on a full disk with stored segments: it deletes them and accepts reports again. */
async function fillWhileStored(folder: string): Promise<Finding[]> {
  const logDir = join(folder, 'log')
  const scene = await openScene(4, async (place) => ({
    ...place,
    logDir,
    environment: { ...place.environment, LOG_BUDGET_BYTES: String(1024 * mebibyte) },
  }))
  try {
    let accepted = 0
    const send = async (index: number) => {
      const padding = randomBytes(400_000).toString('hex')
      const { token } = scene.devices[index % scene.devices.length] ?? {}
      const samples = [{ kind: 'system', ts: Date.now() + index, cpuPct: 5 }]
      const status = await sendReport(scene.ingest.url, token, { padding, samples })
      if (status === 202) accepted += 1
      return status
    }
    for (let index = 0; index < 120; index++) await send(index)
    await until('all is stored', async () => (await figuresOf(scene.ingest.url)).backlog_samples === 0, 60_000)
    const storedBytes = folderBytes(logDir)
    fillCompletely(join(folder, 'filler'))
    const whenFull = freeBytes(folder)
    const isTaken = async () => (await send(1_000)) === 202
    const healed = await until('a report is accepted', isTaken, 30_000).catch(() => false)
    return [
      {
        what: 'there are stored segments on a full disk',
        held: storedBytes > 70 * mebibyte,
        detail: `${storedBytes} bytes, ${whenFull} free`,
      },
      { what: 'ingest deletes them and accepts again', held: healed, detail: `${freeBytes(folder)} bytes free` },
      ...(await scene.verify(accepted)),
    ]
  } finally {
    await scene.close()
  }
}

function fillCompletely(path: string): void {
  const fd = openSync(path, 'w')
  try {
    for (let bytes = mebibyte; bytes >= 1; ) {
      try {
        writeSync(fd, Buffer.alloc(bytes))
      } catch {
        bytes = Math.floor(bytes / 2)
      }
    }
  } finally {
    closeSync(fd)
  }
}
