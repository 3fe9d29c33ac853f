import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { type Damage, describeEachLog, partitionsOfTest, type TestLog } from '#test/log-kinds'
import { until } from '#test/until'
import { LogFailedError, type LoggedBatch, type LogPosition, type TelemetryBatch, type TelemetryLog } from './log.ts'
import { partitionOf } from './partition.ts'

const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
const appender = fileURLToPath(new URL('../../test/support/append-until-killed.ts', import.meta.url))
const waitMs = 60_000
const mebibyte = 1024 ** 2
const limitMs = 120_000

const deviceOf = (index: number) => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`
const partitionOfDevice = (index: number) => partitionOf(deviceOf(index), partitionsOfTest)
const batch = (device: number, body: string | Buffer, sampleCount = 1): TelemetryBatch => ({
  deviceId: deviceOf(device),
  organizationId: '01890000-0000-7000-8000-0000000000bb',
  deviceClass: 'ship',
  receivedAtMs: 1_760_000_000_123,
  oldestTsMs: 1_750_000_000_000,
  format: 'ndjson',
  sampleCount,
  body: Buffer.from(body),
})
const textsOf = (batches: readonly LoggedBatch[]) => batches.map(({ body }) => body.toString())

/** Reads a partition to its present end, or until `enough` reports are read. Returns where the reader is then. */
async function readFrom(
  place: TestLog,
  log: TelemetryLog,
  partition: number,
  from: LogPosition = 0,
  enough = Infinity,
) {
  const damages: Damage[] = []
  const { reader, end, pause } = await place.openReader(log, partition, {
    from,
    onDamage: ({ from, to }) => damages.push({ from, to }),
  })
  const batches: LoggedBatch[] = []
  await until(
    'the partition is read',
    async () => {
      batches.push(...reader.read(end(), enough === Infinity ? mebibyte : 1))
      await pause()
      return reader.position() >= end() || batches.length >= enough
    },
    waitMs,
  )
  reader.close()
  return { batches, damages, position: batches.at(-1)?.nextPosition ?? from }
}

async function readAll(place: TestLog, log: TelemetryLog): Promise<LoggedBatch[]> {
  const all: LoggedBatch[] = []
  for (let partition = 0; partition < partitionsOfTest; partition++) {
    const { batches, damages } = await readFrom(place, log, partition)
    expect(damages).toEqual([])
    all.push(...batches)
  }
  return all
}

await describeEachLog('a telemetry log', (newLog) => {
  test(
    'a report is read back as it was appended, and its position and samples follow those of the one before',
    async () => {
      const place = newLog()
      const log = await place.open()
      expect(log.partitions).toBe(partitionsOfTest)
      await log.append(batch(1, 'first', 3))
      await log.append(batch(1, 'second', 2))
      const { batches } = await readFrom(place, log, partitionOfDevice(1))
      const [first, second] = batches
      expect(first).toMatchObject({ ...batch(1, 'first', 3), firstSample: 0 })
      expect(second).toMatchObject({ ...batch(1, 'second', 2), firstSample: 3, position: first?.nextPosition })
      await log.close()
      await expect(log.append(batch(1, 'late'))).rejects.toThrow(LogFailedError)
    },
    limitMs,
  )

  test(
    'bodies that were sent compressed are read back the same',
    async () => {
      const place = newLog()
      const log = await place.open()
      const bodies = [Buffer.alloc(1024 * 1024, ' '), Buffer.from(randomBytes(50_000).toString('hex'))]
      for (const body of bodies) {
        await log.append({ ...batch(1, body), compressed: { coding: 'gzip', bytes: gzipSync(body) } })
        await log.append({ ...batch(1, body), compressed: { coding: 'zstd', bytes: zstdCompressSync(body) } })
      }
      const { batches } = await readFrom(place, log, partitionOfDevice(1))
      const expected = bodies.flatMap((body) => [body, body])
      expect(batches.map(({ body }, index) => expected[index]?.equals(body))).toEqual([true, true, true, true])
      await log.close()
    },
    limitMs,
  )

  test(
    'concurrent appends keep the order of each device, over reopening',
    async () => {
      const place = newLog()
      const sent = Array.from({ length: 2_000 }, (_, index) => batch(index % 20, `${index}:${'x'.repeat(index % 700)}`))
      for (const half of [sent.slice(0, 1_000), sent.slice(1_000)]) {
        const log = await place.open()
        const appended = half.map((report) => log.append(report))
        // Waits for the appends.
        await log.close()
        await Promise.all(appended)
      }
      const log = await place.open()
      const found = await readAll(place, log)
      expect(found).toHaveLength(sent.length)
      for (let device = 0; device < 20; device++) {
        const own = found.filter(({ deviceId }) => deviceId === deviceOf(device))
        expect(new Set(own.map(({ deviceId }) => partitionOf(deviceId, partitionsOfTest))).size).toBe(1)
        const expected = sent.filter(({ deviceId }) => deviceId === deviceOf(device))
        expect(textsOf(own)).toEqual(expected.map(({ body }) => body.toString()))
      }
      await log.close()
    },
    limitMs,
  )

  test(
    'a reader follows the log, limits what it returns at once, and seeks back and forth',
    async () => {
      const place = newLog()
      const log = await place.open()
      const body = 'y'.repeat(500_000)
      const append = (number: number) => log.append(batch(1, `${number}:${body}`))
      for (let number = 0; number < 20; number++) await append(number)
      const { reader, end, pause } = await place.openReader(log, partitionOfDevice(1), { from: 0 })
      const positions: LogPosition[] = []
      async function numbersTo(position: LogPosition): Promise<number[]> {
        const found: number[] = []
        await until(
          'it is read',
          async () => {
            const chunk = reader.read(position, 1)
            expect(chunk.length).toBeLessThanOrEqual(5)
            for (const one of chunk) {
              const number = Number(one.body.toString().split(':')[0])
              positions[number] = one.position
              found.push(number)
            }
            await pause()
            return reader.position() >= position
          },
          waitMs,
        )
        return found
      }
      const upTo = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)
      const firstEnd = end()
      expect(await numbersTo(firstEnd)).toEqual(upTo(0, 20))
      await append(20)
      // The end of a Kafka partition is known from what was read.
      const { batches } = await readFrom(place, log, partitionOfDevice(1), firstEnd)
      const secondEnd = batches.at(-1)?.nextPosition ?? 0
      expect(await numbersTo(secondEnd)).toEqual([20])
      reader.seek(positions[7] ?? 0)
      expect(await numbersTo(positions[12] ?? 0)).toEqual(upTo(7, 12))
      reader.seek(positions[15] ?? 0)
      expect(await numbersTo(positions[18] ?? 0)).toEqual(upTo(15, 18))
      reader.close()
      await log.close()
    },
    limitMs,
  )

  test(
    'a reader that ends anywhere is continued by one at its position',
    async () => {
      const place = newLog()
      const log = await place.open()
      const texts = Array.from({ length: 60 }, (_, index) => `${index}:${'x'.repeat(200_000)}`)
      for (const text of texts) await log.append(batch(1, text))
      const found: string[] = []
      let from: LogPosition = 0
      for (let lives = 0; found.length < texts.length; lives++) {
        expect(lives).toBeLessThan(texts.length)
        const read = await readFrom(place, log, partitionOfDevice(1), from, 5)
        found.push(...textsOf(read.batches))
        from = read.position
      }
      expect(found.map((text) => Number(text.split(':')[0]))).toEqual(texts.map((_, index) => index))
      await log.close()
    },
    limitMs,
  )

  test(
    'a damaged report is skipped and announced once, and its samples count as lost',
    async () => {
      const place = newLog()
      const log = await place.open()
      await log.append(batch(1, 'before', 2))
      await place.appendDamaged(log, batch(1, 'damaged', 5))
      await log.append(batch(1, 'after', 3))
      await log.append(batch(1, 'last', 1))
      const { batches, damages } = await readFrom(place, log, partitionOfDevice(1))
      expect(textsOf(batches)).toEqual(['before', 'after', 'last'])
      expect(batches.map(({ firstSample }) => firstSample)).toEqual([0, 7, 10])
      expect(damages).toEqual([{ from: batches[0]?.nextPosition, to: batches[1]?.position }])
      // Other partitions are not affected.
      const other = [2, 3, 4, 5].find((device) => partitionOfDevice(device) !== partitionOfDevice(1)) ?? 0
      await log.append(batch(other, 'beside'))
      expect(textsOf((await readFrom(place, log, partitionOfDevice(other))).batches)).toEqual(['beside'])
      await log.close()
    },
    limitMs,
  )

  test('every report that a killed process had acknowledged is read back once, in order', async () => {
    const place = newLog()
    // Kafka creates the topic; segment files need a number of partitions.
    await (await place.open()).close()
    const acknowledged: number[] = []
    const lives = 4
    for (let life = 0; life < lives; life++) {
      const child = spawn(node, [appender, place.target, String(life * 1_000_000)], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let output = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        output += text
        if (output.split('\n').length > 100) child.kill('SIGKILL')
      })
      await once(child, 'close')
      // The last line may be cut; what it says was durable before it was written.
      acknowledged.push(...output.slice(0, output.lastIndexOf('\n')).split('\n').map(Number))
    }
    expect(acknowledged.length).toBeGreaterThan(lives * 90)
    const log = await place.open()
    const numbers = (await readAll(place, log)).map(({ body }) => Number(body.toString().split(':')[0]))
    expect(new Set(numbers).size).toBe(numbers.length)
    const kept = new Set(numbers)
    expect(acknowledged.filter((number) => !kept.has(number))).toEqual([])
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
    await log.close()
  }, 240_000)
})
