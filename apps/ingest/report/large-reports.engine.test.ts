import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OwnedPool, openPool } from '#postgres/pool'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { notLinux } from '#test/platform'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices, type ReportingDevice } from '#test/reporting-device'

let database: TestDatabase
let pool: OwnedPool
let ingest: IngestProcess
const logDir = mkdtempSync(join(tmpdir(), 'large-reports-'))

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'test' })
  ingest = await startIngestProcess({ postgresUrl: database.url, questdb: questdbConnection(), logDir })
})
afterAll(async () => {
  expect(await ingest.end('SIGTERM')).toBe(0)
  await pool.end()
  await database.drop()
  rmSync(logDir, { recursive: true })
})

async function send({ token }: ReportingDevice, body: Buffer) {
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-encoding': 'gzip',
  }
  const answer = await fetch(`${ingest.url}/telemetry`, { method: 'POST', headers, body: new Uint8Array(body) })
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what the tests assert.
  return { status: answer.status, body: (await answer.json()) as any }
}

const devicesOf = async (count: number) => newReportingDevices(pool, await newOrganization(pool), count)
const lists = `[${'[],'.repeat(300_000)}[]]`
const objects = `{${Array.from({ length: 60_000 }, (_, index) => `"k${index}":[]`).join(',')}}`

test('a large report gets the same response as a small one', async () => {
  const [device] = await devicesOf(1)
  if (!device) throw new Error('There is no device.')
  const ts = Date.now()
  const padding = ' '.repeat(300_000)
  const answerTo = (text: string) => send(device, gzipSync(text))
  const good = `{"kind":"system","ts":${ts},"cpuPct":1}`
  expect(await answerTo(`{"samples":[${good},{"kind":"system","junk":${lists}}]}`)).toMatchObject({
    status: 202,
    body: { accepted: 1, rejected: [{ index: 1, code: 'invalid_sample' }] },
  })
  expect(await answerTo(`{"samples":[${good}]${padding}`)).toMatchObject({ status: 400 })
  expect(await answerTo(`{"samples":${lists}}`)).toMatchObject({ status: 413, body: { code: 'too_many_samples' } })
  expect(await answerTo(padding.repeat(4))).toMatchObject({ status: 413, body: { code: 'body_too_large' } })
})

/** The most memory that ingest has held so far, in MiB. */
const peakMib = () => Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${ingest.pid}/status`, 'utf8'))?.[1]) / 1024

test('memory does not grow with how many large reports come at once', {
  timeout: 240_000,
}, async ({ skip }) => {
  if (notLinux) return skip(notLinux)
  const devices = await devicesOf(3)
  const reports = [
    `{"samples":[{"kind":"cellular","cells":${lists}}]}`,
    `{"samples":[{"kind":"system","cpuPct":1}],"junk":${objects}}`,
    `{"samples":[{"kind":"system","cpuPct":1}],"junk":${lists}}`,
  ].map((text) => gzipSync(text))
  const beforeMib = peakMib()
  const answers = await Promise.all(
    devices.flatMap((device) =>
      Array.from({ length: 90 }, (_, index) => send(device, reports[index % reports.length] ?? Buffer.alloc(0))),
    ),
  )
  expect(answers.every(({ status }) => status === 202)).toBe(true)
  const grownMib = peakMib() - beforeMib
  console.log(`memory grew by ${grownMib.toFixed(0)} MiB`)
  expect(grownMib).toBeLessThan(300)
})
