import { tmpdir } from 'node:os'
import { afterEach, expect, test, vi } from 'vitest'
import { createLogger } from '#http/request-log'
import { openMemoryLog } from '#telemetry-log/memory-log'
import { until } from '#test/until'
import { openPartition } from './open-partition.ts'
import { openCheckpoints } from './store/checkpoints.ts'

afterEach(() => void vi.restoreAllMocks())

const startMs = Date.now()
const reportAt = (receivedAtMs: number, cpuPct: number) => ({
  ...{ deviceId: 'device', organizationId: 'owner', deviceClass: 'vehicle' as const, format: 'json' as const },
  ...{ receivedAtMs, oldestTsMs: 0, sampleCount: 1 },
  body: Buffer.from(JSON.stringify({ samples: [{ kind: 'system', ts: startMs, cpuPct }] })),
})

/** A database whose queries return no rows, and which has applied what was sent before the last `look`. */
function emptyQuestdb() {
  let appliedMs = 0
  return {
    sql: { query: async () => [], queryArrays: async () => [], end: async () => {} },
    transport: { send: async () => ({ kind: 'stored' as const }), close: async () => {} },
    watch: {
      async look() {
        appliedMs = performance.now()
      },
      suspendedTables: () => 0,
      appliedMs: () => appliedMs,
      serverStartMs: () => undefined,
      takeRestart: () => false,
      lookedAtMs: () => 0,
    },
    repairSchema: async () => {},
    close: async () => {},
  }
}

test('sample times that are stored again after a restart of QuestDB are kept until queries return them', async () => {
  const realNow = performance.now.bind(performance)
  let laterMs = 0
  vi.spyOn(performance, 'now').mockImplementation(() => realNow() + laterMs)
  const log = openMemoryLog()
  const questdb = emptyQuestdb()
  const checkpoint = { position: 0, counts: { stored: 0, replaced: 0, deadLettered: 0 }, atMs: 0, history: [] }
  const store = { read: () => checkpoint, write: () => true, release() {} }
  let batches = 0
  const writer = openPartition({
    place: { logFolder: tmpdir(), partition: 0 },
    questdb,
    logger: createLogger('test', 'silent'),
    async openLog() {
      const openReaders = (from: number, earlierFrom: number) => ({
        reader: log.openReader(from),
        ahead: log.openReader(from),
        earlier: log.openReader(earlierFrom),
      })
      return { tail: log.tail, checkpoints: openCheckpoints({ store, mayWrite: () => true }), openReaders }
    },
    onStored() {},
    onBatch() {
      batches += 1
    },
  })
  log.append(reportAt(startMs, 1))
  await until('the report is stored', async () => batches === 1)
  await questdb.watch.look()
  writer.follow(false)
  writer.follow(true)
  await until('the report is stored again', async () => batches === 2)
  for (let minute = 1; minute <= 3; minute++) {
    laterMs = minute * 60_000
    writer.follow(false)
  }
  log.append(reportAt(startMs + 1, 2))
  await until('the repeated sample is stored', async () => batches === 3)
  expect(writer.figures()?.counts).toEqual({ stored: 1, replaced: 1, deadLettered: 0 })
  await writer.stop()
})
