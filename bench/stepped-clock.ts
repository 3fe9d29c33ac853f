import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'
import pg from 'pg'

// Preloaded into ingest: a clock that the bench can set forward. Between two steps, it runs as fast as the real clock.
const key = 'stepped-clock'
const memory = isMainThread ? new SharedArrayBuffer(8) : (getEnvironmentData(key) as unknown as SharedArrayBuffer)
const ahead = new BigInt64Array(memory)
const aheadMs = () => Number(Atomics.load(ahead, 0))

if (isMainThread) {
  setEnvironmentData(key, memory as never)
  Atomics.store(ahead, 0, BigInt(process.env.BENCH_CLOCK_AHEAD_MS ?? 0))
  process.on('message', (message: { aheadMs: number }) => {
    Atomics.store(ahead, 0, BigInt(message.aheadMs))
    process.send?.(message)
  })
  // This listener alone must not keep the process running.
  process.channel?.unref()
}

const SystemDate = Date
const systemNow = performance.now.bind(performance)
// Monotonic from the start of the thread on, so it must not become negative.
const startAheadMs = aheadMs()
performance.now = () => systemNow() + aheadMs() - startAheadMs
globalThis.Date = class extends SystemDate {
  constructor(...values: [] | [number]) {
    if (values.length === 0) super(Date.now())
    else super(...values)
  }
  static override now = () => SystemDate.now() + aheadMs()
} as DateConstructor

/** Pauses of the writer are shorter by this factor, so that it does not wait in real time. Time limits stay as they are. */
const fasterPauses = 20
const longestPauseMs = 5_000
const shorter = (ms: number | undefined) => (ms === undefined || ms > longestPauseMs ? ms : ms / fasterPauses)

const systemWaitAsync = Atomics.waitAsync
Atomics.waitAsync = ((array: Int32Array, index: number, value: number, ms?: number) =>
  systemWaitAsync(array, index, value, shorter(ms))) as typeof Atomics.waitAsync
const systemDelay = timers.setTimeout
timers.setTimeout = ((ms?: number, ...rest: []) => systemDelay(shorter(ms), ...rest)) as typeof timers.setTimeout
syncBuiltinESMExports()

// Ingest follows the clock of Postgres, so that must be ahead as well.
const databaseClock = 'clock_timestamp()'
type Query = (this: unknown, query: unknown, ...rest: unknown[]) => unknown
const client = pg.Client.prototype as unknown as { query: Query }
const systemQuery = client.query
client.query = function (query, ...rest) {
  const isClock = typeof query === 'string' && query.includes(databaseClock)
  const shifted = isClock ? query.replace(databaseClock, `(clock_timestamp() + interval '${aheadMs()} ms')`) : query
  return systemQuery.call(this, shifted, ...rest)
}
