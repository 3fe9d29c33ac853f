import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OwnedPool, openPool } from '#postgres/pool'
import { folderBytes } from '#telemetry-log/checkpoints/folder-bytes'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices } from '#test/reporting-device'
import { until } from '#test/until'

const mebibyte = 1024 ** 2
const budgetBytes = 32 * mebibyte
const storedWithinMs = 60_000

let database: TestDatabase
let pool: OwnedPool
let ingest: IngestProcess
const logDir = mkdtempSync(join(tmpdir(), 'log-budget-'))

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'test' })
  ingest = await startIngestProcess({
    postgresUrl: database.url,
    questdb: questdbConnection(),
    logDir,
    environment: { LOG_BUDGET_BYTES: String(budgetBytes) },
  })
})
afterAll(async () => {
  await ingest.end('SIGTERM')
  await pool.end()
  await database.drop()
  rmSync(logDir, { recursive: true })
})

async function figure(name: string): Promise<number> {
  const text = await (await fetch(`${ingest.url}/metrics`)).text()
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
}

/** A new device sends one report; returns the status. */
async function send(token: string, body: Buffer, coding: 'gzip' | 'identity'): Promise<number> {
  const { status } = await fetch(`${ingest.url}/telemetry`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-encoding': coding },
    body: new Uint8Array(body),
  })
  return status
}

const withPadding = (padding: string) =>
  Buffer.from(JSON.stringify({ padding, samples: [{ kind: 'system', cpuPct: 5 }] }))

test('a report of spaces takes as few bytes of the log as of the network', async () => {
  const devices = await newReportingDevices(pool, await newOrganization(pool), 40)
  const before = folderBytes(logDir)
  const spaces = gzipSync(withPadding(' '.repeat(1_000_000)))
  for (const { token } of devices) expect(await send(token, spaces, 'gzip')).toBe(202)
  expect(folderBytes(logDir) - before).toBeLessThan(mebibyte)
  await until('all are stored', async () => (await figure('telemetry_backlog_samples')) === 0, storedWithinMs)
}, 240_000)

test('the log stays within its budget while more data passes through it, and accepts all reports', async () => {
  const devices = await newReportingDevices(pool, await newOrganization(pool), 96)
  let largest = 0
  for (const { token } of devices) {
    expect(await send(token, withPadding(randomBytes(500_000).toString('hex')), 'identity')).toBe(202)
    largest = Math.max(largest, folderBytes(logDir))
    await until(
      'the log has room',
      async () => (await figure('telemetry_log_bytes')) < 0.7 * budgetBytes,
      storedWithinMs,
    )
  }
  expect(largest).toBeLessThan(budgetBytes)
  expect(largest).toBeGreaterThan(budgetBytes / 3)
  await until('all are stored', async () => (await figure('telemetry_backlog_samples')) === 0, storedWithinMs)
  expect(await figure('telemetry_log_bytes')).toBeGreaterThan(0)
}, 240_000)
