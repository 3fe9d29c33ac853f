import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { zstdCompressSync } from 'node:zlib'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { readCheckpoint, writeCheckpoint } from '#telemetry-log/checkpoints/checkpoint-file'
import { folderBytes } from '#telemetry-log/checkpoints/folder-bytes'
import { lockPath, newestLock } from '#telemetry-log/lock/lock-file'
import {
  LogFailedError,
  type LoggedBatch,
  LogInUseError,
  LogLayoutError,
  type TelemetryBatch,
} from '#telemetry-log/log'
import { partitionOf } from '#telemetry-log/partition'
import { syncedPaths, syncsMissing } from '#test/synced-paths'
import { readLayout, writeLayout } from './layout.ts'
import {
  type LogPartition,
  openPartitionedLog,
  type PartitionedLog,
  refuseUnstoredSegments,
} from './partitioned-log.ts'
import { openSegmentLog } from './segment-log.ts'
import { openSegmentReader } from './segment-reader.ts'
import { listSegments } from './segments.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'partitioned-log-'))
})
afterEach(() => rmSync(folder, { recursive: true }))

test('the folders of a new log and of its partitions are durable in the folders above, and private', async ({
  skip,
}) => {
  if (syncsMissing !== null) return skip(syncsMissing)
  const logFolder = join(folder, 'data', 'log')
  const paths = await syncedPaths(async () => {
    const log = await openPartitionedLog({ folder: logFolder, partitions: 2 })
    await log.close()
  })
  const created = readdirSync(logFolder, { recursive: true, encoding: 'utf8', withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
  expect(created).toHaveLength(3)
  for (const made of [logFolder, ...created]) {
    expect(paths, made).toContain(dirname(made))
    expect(statSync(made).mode & 0o777, made).toBe(0o700)
  }
  expect(paths).toContain(folder)
})

test('the folder of an earlier version, which others could read, becomes private', async () => {
  const logFolder = join(folder, 'log')
  mkdirSync(logFolder, { mode: 0o755 })
  await (await openPartitionedLog({ folder: logFolder, partitions: 1 })).close()
  expect(statSync(logFolder).mode & 0o777).toBe(0o700)
})

/** Five devices of each of four partitions. */
const devices = Array.from({ length: 4 }, (_, partition) => Array.from({ length: 5 }, () => idIn(partition))).flat()

function idIn(partition: number): string {
  for (;;) {
    const id = newId()
    if (partitionOf(id, 4) === partition) return id
  }
}

const organizationId = newId()

const report = (deviceId: string, number: number, body = `${number}`): TelemetryBatch => ({
  deviceId,
  organizationId,
  deviceClass: 'vehicle',
  receivedAtMs: 1_760_000_000_000 + number,
  oldestTsMs: 1_750_000_000_000,
  format: 'json',
  sampleCount: 2,
  body: Buffer.from(body),
})

function readFrom({ place, log }: LogPartition, from: number): LoggedBatch[] {
  const reader = openSegmentReader({ folder: place.folder, from, onDamage: () => expect.fail('Nothing is damaged.') })
  const found: LoggedBatch[] = []
  const { position } = log.tail()
  for (let chunk = reader.read(position, 1); chunk.length > 0; chunk = reader.read(position, 1)) found.push(...chunk)
  reader.close()
  return found
}

/** Appends `count` reports of each device, all at once, numbered from `first`. */
async function fill(log: Pick<PartitionedLog, 'append'>, count: number, first = 0): Promise<void> {
  const reports = Array.from({ length: count }, (_, index) =>
    devices.map((deviceId) => report(deviceId, first + index)),
  ).flat()
  await Promise.all(reports.map((batch) => log.append(batch)))
}

/** Returns the numbers of the reports of each device, in the order of the log, each from the device's partition. */
function numbersByDevice(log: PartitionedLog, from: (partition: LogPartition) => number = () => 0) {
  const found = new Map<string, number[]>(devices.map((deviceId) => [deviceId, []]))
  for (const partition of log.all) {
    for (const { deviceId, body } of readFrom(partition, from(partition))) {
      expect(partitionOf(deviceId, log.partitions)).toBe(partition.place.partition)
      found.get(deviceId)?.push(Number(body.toString()))
    }
  }
  return [...found.values()]
}

const upTo = (count: number, first = 0) => Array.from({ length: count }, (_, index) => first + index)
const ofAllDevices = (numbers: number[]) => devices.map(() => numbers)
const samplesIn = ({ all }: PartitionedLog) => all.reduce((sum, { log }) => sum + log.tail().samples, 0)
const storedIn = ({ all }: PartitionedLog) =>
  all.reduce((sum, { place }) => sum + (readCheckpoint(place.folder)?.counts.stored ?? 0), 0)

/** Records that everything is stored. A replay would begin with the reports that have this number. */
function storeAll({ all }: Pick<PartitionedLog, 'all'>, replayFrom: number): void {
  for (const partition of all) {
    const { position, samples } = partition.log.tail()
    const counts = { stored: samples, replaced: 0, deadLettered: 0 }
    const first = readFrom(partition, 0).find(({ body }) => Number(body.toString()) === replayFrom)
    const history = [{ position: first?.position ?? position, atMs: 1 }]
    writeCheckpoint(partition.place.folder, { position, counts, atMs: 1, history, serverStartMs: 5 })
  }
}

/** A log of an earlier version with `count` reports of each device. All are stored. */
async function fillEarlierLog(count: number, replayFrom: number): Promise<void> {
  const log = await openSegmentLog({ folder })
  await fill(log, count)
  const place = { folder, logFolder: folder, partition: 0 }
  storeAll({ all: [{ place, log, tailMemory: new SharedArrayBuffer(0) }] }, replayFrom)
  await log.close()
}

const partitionFolders = () => readdirSync(folder).filter((name) => name.startsWith('partitions-'))

test('reports of a device stay in order in its partition, also after the log is opened again', async () => {
  const log = await openPartitionedLog({ folder, partitions: 4, maxSegmentBytes: 4 * 64 * 1024 })
  await fill(log, 300)
  expect(log.all.every((partition) => readFrom(partition, 0).length > 0)).toBe(true)
  await log.close()
  const again = await openPartitionedLog({ folder, partitions: 4 })
  await fill(again, 10, 300)
  expect(numbersByDevice(again)).toEqual(ofAllDevices(upTo(310)))
  expect(samplesIn(again)).toBe(devices.length * 310 * 2)
  await again.close()
})

test('a new log has the default number of partitions, and keeps it when the default changes', async () => {
  await (await openPartitionedLog({ folder, partitionsIfNew: 3 })).close()
  const log = await openPartitionedLog({ folder, partitionsIfNew: 8 })
  expect(log.partitions).toBe(3)
  expect(readdirSync(join(folder, 'partitions-1'))).toEqual(['0', '1', '2'])
  await log.close()
})

test('a log of an earlier version is read on where it is', async () => {
  const earlier = await openSegmentLog({ folder })
  await fill(earlier, 5)
  const tail = earlier.tail()
  await earlier.close()
  const log = await openPartitionedLog({ folder, partitionsIfNew: 4 })
  expect(log.partitions).toBe(1)
  expect(log.all[0]?.place.folder).toBe(folder)
  expect(log.all[0]?.log.tail()).toEqual(tail)
  await fill(log, 1, 5)
  expect(numbersByDevice(log)).toEqual(ofAllDevices(upTo(6)))
  await log.close()
})

test('another number of partitions is refused while samples are not stored, and changes nothing', async () => {
  const log = await openPartitionedLog({ folder, partitions: 4 })
  await fill(log, 3)
  storeAll(log, 0)
  await log.append(report(devices[0] ?? '', 3))
  await log.close()
  await expect(openPartitionedLog({ folder, partitions: 2 })).rejects.toThrow(
    `LOG_PARTITIONS cannot be 2: the telemetry log ${folder} has LOG_PARTITIONS=4 and 2 samples that are not stored. Start with LOG_PARTITIONS=4, wait until telemetry_backlog_samples is 0, stop, and start with LOG_PARTITIONS=2.`,
  )
  const again = await openPartitionedLog({ folder, partitions: 4 })
  expect(samplesIn(again)).toBe(devices.length * 3 * 2 + 2)
  await again.close()
})

test('when everything is stored, the number changes: counts go on and reports to replay move with their device', async () => {
  await fillEarlierLog(6, 2)
  let kept = [2, 3, 4, 5]
  let appended = 6
  for (const partitions of [4, 3, 1]) {
    const log = await openPartitionedLog({ folder, partitions })
    expect(log.partitions).toBe(partitions)
    expect(numbersByDevice(log)).toEqual(ofAllDevices(kept))
    expect(storedIn(log)).toBe(appended * devices.length * 2)
    expect(samplesIn(log)).toBe(storedIn(log))
    await fill(log, 1, appended)
    const checkpoints = log.all.map(({ place }) => readCheckpoint(place.folder))
    const positionOf = ({ place }: LogPartition) => checkpoints[place.partition]?.position ?? 0
    expect(numbersByDevice(log, positionOf)).toEqual(ofAllDevices([appended]))
    for (const partition of log.all) {
      const [next] = readFrom(partition, positionOf(partition))
      expect(next?.firstSample).toBe(checkpoints[partition.place.partition]?.counts.stored)
    }
    // Without the start time of the server, the first writer sends the reports again.
    expect(checkpoints.every((checkpoint) => checkpoint && checkpoint.serverStartMs === undefined)).toBe(true)
    storeAll(log, appended)
    kept = [appended]
    appended += 1
    await log.close()
  }
  expect(partitionFolders()).toEqual(['partitions-3'])
  expect(listSegments(folder)).toEqual([])
  expect(readCheckpoint(folder)).toBeUndefined()
})

test('positions are larger after each change, so that dead letters of damaged bytes keep their names', async () => {
  await fillEarlierLog(6, 2)
  const before = listSegments(folder).length
  expect(before).toBe(1)
  const end = readCheckpoint(folder)?.position ?? 0
  const log = await openPartitionedLog({ folder, partitions: 2 })
  for (const partition of log.all) expect(readFrom(partition, 0)[0]?.position).toBeGreaterThan(end)
  await log.close()
})

test('a large body stays compressed when it moves', async () => {
  const log = await openPartitionedLog({ folder, partitions: 2 })
  const body = Buffer.alloc(1_000_000, ' ')
  for (const deviceId of devices) {
    await log.append({ ...report(deviceId, 0), body, compressed: { coding: 'zstd', bytes: zstdCompressSync(body) } })
  }
  storeAll(log, 0)
  await log.close()
  const changed = await openPartitionedLog({ folder, partitions: 4 })
  expect(changed.all.flatMap((partition) => readFrom(partition, 0)).every((read) => read.body.equals(body))).toBe(true)
  expect(folderBytes(folder)).toBeLessThan(1_000_000)
  await changed.close()
})

test('a change that a crash interrupted before the switch is done again', async () => {
  await fillEarlierLog(6, 2)
  for (const { path } of listSegments(folder)) cpSync(path, join(folder, 'partitions-1', '0', basename(path)))
  const log = await openPartitionedLog({ folder, partitions: 4 })
  expect(numbersByDevice(log)).toEqual(ofAllDevices([2, 3, 4, 5]))
  await log.close()
})

test('a change that a crash interrupted after the switch is completed at the next start', async () => {
  await fillEarlierLog(6, 2)
  const copy = mkdtempSync(join(tmpdir(), 'partitioned-log-copy-'))
  cpSync(folder, copy, { recursive: true })
  await (await openPartitionedLog({ folder, partitions: 4 })).close()
  for (const name of readdirSync(copy)) {
    if (name.endsWith('.segment')) cpSync(join(copy, name), join(folder, name))
  }
  rmSync(copy, { recursive: true })
  writeLayout(folder, { ...readLayout(folder), previous: '.' })
  const log = await openPartitionedLog({ folder })
  expect(numbersByDevice(log)).toEqual(ofAllDevices([2, 3, 4, 5]))
  expect(listSegments(folder)).toEqual([])
  expect(readLayout(folder)).toEqual({ partitions: 4, folder: 'partitions-1' })
  await log.close()
})

test('segments that an earlier version wrote after the change are not ignored', async () => {
  await (await openPartitionedLog({ folder, partitions: 2 })).close()
  await fillEarlierLog(1, 0)
  await expect(openPartitionedLog({ folder })).rejects.toThrow(LogLayoutError)
  await expect(openPartitionedLog({ folder })).rejects.toThrow('An earlier version has written')
})

test('a log whose layout file is lost is not taken for a new one', async () => {
  const log = await openPartitionedLog({ folder, partitions: 2 })
  await fill(log, 1)
  await log.close()
  rmSync(join(folder, 'layout.json'))
  await expect(openPartitionedLog({ folder, partitionsIfNew: 2 })).rejects.toThrow('layout.json is missing')
})

test('a change to Kafka is refused while samples in segment files are not stored', async () => {
  await refuseUnstoredSegments(join(folder, 'missing'))
  await refuseUnstoredSegments(folder)
  const log = await openPartitionedLog({ folder, partitions: 2 })
  await fill(log, 3)
  await expect(refuseUnstoredSegments(folder)).rejects.toThrow(LogInUseError)
  await log.close()
  const samples = devices.length * 3 * 2
  await expect(refuseUnstoredSegments(folder)).rejects.toThrow(
    new LogLayoutError(
      `The telemetry log cannot be on Kafka yet: ${folder} has ${samples} samples that are not stored. Start without KAFKA_BROKERS, wait until telemetry_backlog_samples is 0, stop, and start with KAFKA_BROKERS.`,
    ),
  )
  const again = await openPartitionedLog({ folder })
  storeAll(again, 0)
  await again.close()
  await refuseUnstoredSegments(folder)
})

test('one lock protects all partitions, and closing releases it', async () => {
  const log = await openPartitionedLog({ folder, partitions: 4 })
  await expect(openPartitionedLog({ folder, partitions: 4 })).rejects.toThrow(LogInUseError)
  await log.close()
  await (await openPartitionedLog({ folder })).close()
})

test('a partition that cannot be written fails the log', async () => {
  const log = await openPartitionedLog({ folder, partitions: 4 })
  await fill(log, 1)
  // The next process to claim the lock owns all partitions.
  const { generation } = newestLock(folder) ?? { generation: 0 }
  writeFileSync(lockPath(folder, generation + 1), '{}')
  expect((await log.failed).message).toContain('Another process has taken over the telemetry log')
  await expect(log.append(report(devices[0] ?? '', 1))).rejects.toThrow(LogFailedError)
  await log.close()
})
