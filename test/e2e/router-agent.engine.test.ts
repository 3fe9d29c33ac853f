import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { childEnvironment } from '#test/child-environment'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices } from '#test/reporting-device'
import { until } from '#test/until'
import { freePort } from '../../apps/stack/engines/process.ts'

const node = fileURLToPath(new URL('../../node_modules/.bin/node', import.meta.url))
const program = fileURLToPath(new URL('../../apps/router-agent/main.ts', import.meta.url))
const driveSeconds = 900

let database: TestDatabase
let pool: OwnedPool
let questdb: QuestdbSql
let folder: string

beforeAll(async () => {
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'test' })
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
  folder = await mkdtemp(join(tmpdir(), 'router-agent-'))
})
afterAll(async () => {
  await Promise.all([pool.end(), questdb.end()])
  await database.drop()
  await rm(folder, { recursive: true, force: true })
})

/** Generates a drive along a meridian: RF each second, a new fix every ten seconds, and some sentinel values. */
function driveCsv(): string {
  const header =
    'Timestamp,Longitude,Latitude,Speed,Operatorname,NetworkMode,RSRP,RSRQ,SNR,CQI,RSSI,LACHEX,RAWCELLID,NRxRSRP,NRxRSRQ'
  const rows = Array.from({ length: driveSeconds }, (_, second) => {
    const time = new Date(Date.UTC(2020, 1, 13, 15) + second * 1_000).toISOString().slice(0, 19)
    const timestamp = time.replaceAll('-', '.').replaceAll(':', '.').replace('T', '_')
    const latitude = (51.8 + Math.floor(second / 10) * 0.0009).toFixed(6)
    const rsrp = second % 50 === 0 ? '-' : -80 - (second % 30)
    return `${timestamp},-8.39,${latitude},36,B,LTE,${rsrp},-11,${second % 20},10,-60,9CBA,10805003,-,-`
  })
  return [header, ...rows].join('\n')
}

test('a drive is stored exactly once although ingest is killed twice', async () => {
  const [device] = await newReportingDevices(pool, await newOrganization(pool), 1)
  if (!device) throw new Error('No device was made.')
  const drive = join(folder, 'drive.csv')
  await writeFile(drive, driveCsv())
  const place = {
    postgresUrl: database.url,
    questdb: questdbConnection(),
    logDir: join(folder, 'log'),
    port: await freePort(),
  }
  let ingest: IngestProcess = await startIngestProcess(place)
  const agent: ChildProcess = spawn(
    node,
    [program, '--base-url', ingest.url, '--drive', drive, '--speed', '90', '--state-dir', join(folder, 'state')],
    {
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      env: { ...childEnvironment, DEVICE_TOKEN: device.token, REPORT_EVERY_MS: '200', LONG_POLL_SECONDS: '0' },
    },
  )
  const ended = once(agent, 'exit')
  const count = async (kind: string) => {
    const rows = await questdb.query<{ n: number; distinct: number }>(
      `SELECT count() n, count_distinct(ts) "distinct" FROM ${kind} WHERE device_id = $1`,
      [device.id],
    )
    return { n: Number(rows[0]?.n), distinct: Number(rows[0]?.distinct) }
  }
  for (const enough of [100, 400]) {
    await until(`${enough} rows`, async () => (await count('cellular')).n >= enough)
    await ingest.end('SIGKILL')
    ingest = await startIngestProcess(place)
  }
  expect(await ended).toEqual([0, null])
  for (const kind of ['cellular', 'location']) {
    await until(`all rows of ${kind}`, async () => (await count(kind)).n >= driveSeconds)
    expect(await count(kind)).toEqual({ n: driveSeconds, distinct: driveSeconds })
  }
  const missing = await questdb.query<{ n: number }>(
    'SELECT count() n FROM cellular WHERE device_id = $1 AND rsrp_dbm IS NULL',
    [device.id],
  )
  expect(Number(missing[0]?.n)).toBe(driveSeconds / 50)
  await ingest.end('SIGTERM')
}, 120_000)
