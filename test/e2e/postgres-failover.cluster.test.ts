import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { isUnavailable } from '#postgres/errors'
import { listen } from '#postgres/listen'
import { openPool } from '#postgres/pool'
import { openQueueBackend } from '#queue/backend'
import { type PostgresPair, startPostgresPair } from '#test/postgres-pair'
import { until } from '#test/until'

const healLimitMs = 60_000
let dir: string
let pair: PostgresPair

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'routerfleet-pair-'))
  pair = await startPostgresPair(dir)
}, 240_000)
afterAll(async () => {
  await pair?.stop()
  await rm(dir, { recursive: true, force: true })
})

/** Writes numbers one after the other until `stop`. Returns those whose COMMIT was acknowledged. */
function startWriter(pool: ReturnType<typeof openPool>) {
  const acknowledged: number[] = []
  const errors: unknown[] = []
  let isStopping = false
  const writing = (async () => {
    for (let number = 1; !isStopping; number++) {
      const written = pool.query('INSERT INTO written VALUES ($1)', [number])
      await written.then(
        () => acknowledged.push(number),
        (error) => errors.push(error),
      )
    }
  })()
  return {
    acknowledged,
    errors,
    stop() {
      isStopping = true
      return writing
    },
  }
}

test('pools, listeners and queues move to the promoted standby, and no acknowledged row is lost', {
  timeout: 240_000,
}, async () => {
  const pool = openPool(pair.url, { applicationName: 'test' })
  const notices: string[] = []
  let gaps = 0
  const listening = listen(pair.url, [
    { channel: 'news', onNotice: (payload) => notices.push(payload), onGap: () => (gaps += 1) },
  ])
  const backend = openQueueBackend({ postgresUrl: pair.url }, () => {})
  const processed: unknown[] = []
  try {
    await pool.query('CREATE TABLE IF NOT EXISTS written (number int PRIMARY KEY)')
    await listening.connected
    const queue = await backend.openQueue('dispatch')
    const worker = await backend.openWorker('dispatch', async (data) => void processed.push(data), {
      concurrency: 1,
    })
    const offer = async (data: string) => {
      await queue.addBulk([{ name: 'job', data, opts: {} }]).catch(() => {})
      return processed.includes(data)
    }
    await until('a queue entry is processed', () => offer('before'), healLimitMs)
    const writer = startWriter(pool)
    await until('rows are written', async () => writer.acknowledged.length > 100)
    const gapsBefore = gaps

    await pair.failOver()
    const countBefore = writer.acknowledged.length
    await until('rows are written again', async () => writer.acknowledged.length > countBefore + 100, healLimitMs)
    await writer.stop()
    expect(writer.errors.filter((error) => !isUnavailable(error))).toEqual([])
    const { rows } = await pool.query<{ number: number }>('SELECT number FROM written')
    const stored = new Set(rows.map(({ number }) => number))
    expect(writer.acknowledged.filter((number) => !stored.has(number))).toEqual([])

    const hears = async () => {
      await pool.query("SELECT pg_notify('news', 'promoted')")
      return notices.includes('promoted')
    }
    await until('a notice arrives', hears, healLimitMs)
    expect(gaps).toBeGreaterThan(gapsBefore)
    await until('a queue entry is processed again', () => offer('after'), healLimitMs)
    await worker.close(true)
    await queue.close()
  } finally {
    await listening.stop()
    await backend.close()
    await pool.end()
  }
})

test('an old primary that runs again is not used', { timeout: 120_000 }, async () => {
  await pair.resurrect()
  const pool = openPool(pair.url, { applicationName: 'test' })
  const { rows } = await pool.query<{ port: number }>('SELECT inet_server_port() AS port')
  expect(String(rows[0]?.port)).toBe(new URL(pair.primaryUrl()).port)
  await pool.end()
})

test('a rebuilt standby takes over in turn', { timeout: 240_000 }, async () => {
  await pair.rebuild()
  const pool = openPool(pair.url, { applicationName: 'test' })
  await pool.query('CREATE TABLE IF NOT EXISTS later (number int)')
  await pair.failOver()
  const writes = () => pool.query('INSERT INTO later VALUES (1)').then(Boolean, () => false)
  await until('rows are written', writes, healLimitMs)
  await pool.end()
})
