import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { Secret } from '#core/secret'
import { openIlpTransport } from '#questdb/server/ilp-transport'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import {
  appendDeadLetters,
  deadLetterFolder,
  deadReportOf,
  parseDeadLetter,
} from '#telemetry-log/dead-letters/dead-letters'
import { openSegmentLog } from '#telemetry-log/segments/segment-log'
import { openSegmentReader } from '#telemetry-log/segments/segment-reader'
import { createSharedTailMemory, openSharedTail } from '#telemetry-log/segments/shared-tail'
import { createPipeline } from '#telemetry-writer/pipeline'
import { createActivity } from '#telemetry-writer/store/activity'
import { createRowStore } from '#telemetry-writer/store/store-rows'
import { questdbConnection } from '#test/questdb'
import { until } from '#test/until'
import { decodeHere } from './decode-report.ts'

let questdb: QuestdbSql
const folder = mkdtempSync(join(tmpdir(), 'failing-report-'))
beforeAll(() => {
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
})
afterAll(async () => {
  await questdb.end()
  rmSync(folder, { recursive: true })
})

const nowMs = Date.now()
let sent = 0
const batchOf = (deviceId: string, samples: readonly object[]) => ({
  ...{ deviceId, organizationId: newId(), deviceClass: 'vehicle' as const, format: 'json' as const },
  ...{ receivedAtMs: nowMs + sent++, oldestTsMs: nowMs - 86_400_000, sampleCount: samples.length },
  body: Buffer.from(JSON.stringify({ samples })),
})

test('a report that fails is counted and stored as a dead letter; its device and others continue', async () => {
  const memory = createSharedTailMemory()
  const tail = openSharedTail(memory)
  const log = await openSegmentLog({ folder, onTail: ({ position }) => tail.publish(position) })
  const reader = openSegmentReader({ folder, from: 0, onDamage: () => {} })
  const { httpUrl: url, user, password } = questdbConnection()
  const transport = openIlpTransport({ url, user, password: new Secret(password) })
  let attempts = 0
  let counts = { stored: 0, replaced: 0, deadLettered: 0 }
  const pipeline = createPipeline({
    ahead: openSegmentReader({ folder, from: 0 }),
    earlier: openSegmentReader({ folder, from: 0 }),
    activity: createActivity(),
    decode: decodeHere,
    reader,
    tail,
    questdb,
    store: createRowStore({
      transport,
      saveDeadRows: () => {},
      repairSchema: async () => {},
      onRetry: () => {},
      signal: new AbortController().signal,
    }),
    // Counting what was cleaned is outside of the pipeline's hands: here it fails for one field.
    cleaning: {
      count(_reason, _kind, field) {
        if (field !== 'load1') return
        attempts += 1
        throw new Error('This report cannot be worked through.')
      },
      list: () => [],
    },
    checkpoint: { position: 0, counts, atMs: 0, history: [] },
    onStored: (_position, next) => {
      counts = next
    },
    onFailure: {
      report: (batch, error) =>
        appendDeadLetters({ logFolder: folder, partition: 0 }, nowMs, [deadReportOf(batch, String(error), nowMs)]),
      device: (_deviceId, error) => {
        throw error
      },
    },
  })
  const [bad, good] = [newId(), newId()]
  const system = (secondsAgo: number, more: object = {}) => ({
    kind: 'system',
    ts: nowMs - secondsAgo * 1_000,
    ...more,
  })
  const failing = batchOf(bad, [system(5, { cpuPct: 1 }), system(4, { load1: -1 }), system(3)])
  await log.append(batchOf(bad, [system(10, { cpuPct: 1 })]))
  await log.append(failing)
  await log.append(batchOf(good, [system(5), system(4)]))
  await log.append(batchOf(bad, [system(2), system(10, { cpuPct: 2 })]))
  await log.append(failing)
  const running = pipeline.run()
  const settled = () => counts.stored + counts.replaced + counts.deadLettered
  await until('every sample is accounted for', async () => settled() === log.tail().samples, 60_000)
  pipeline.stop()
  await running
  expect(counts).toEqual({ stored: 4, replaced: 1, deadLettered: 6 })
  // Three times, and the second report of the device only once.
  expect(attempts).toBe(4)
  const timesOf = async (deviceId: string) => {
    const rows = await questdb.query<{ ts: number }>('SELECT ts FROM system WHERE device_id = $1 ORDER BY ts', [
      deviceId,
    ])
    return rows.map(({ ts }) => (nowMs - ts) / 1_000)
  }
  await until('the rows of the others are there', async () => (await timesOf(good)).length === 2)
  await until('no row of the failing report is', async () => String(await timesOf(bad)) === '10,2')
  const [file = ''] = readdirSync(deadLetterFolder(folder))
  const lines = readFileSync(join(deadLetterFolder(folder), file), 'utf8')
    .split('\n')
    .filter(Boolean)
  expect(lines).toHaveLength(2)
  const { body, ...origin } = failing
  const reason = 'Error: This report cannot be worked through.'
  expect(parseDeadLetter(lines[0] ?? '')).toMatchObject({ ...origin, reason, body: body.toString('base64') })
  reader.close()
  await Promise.all([log.close(), transport.close()])
})
