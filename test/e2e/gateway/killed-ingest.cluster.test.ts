import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connectAsync } from 'mqtt'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { issueToken } from '#core/tokens'
import { type OwnedPool, openPool } from '#postgres/pool'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { createTestDatabase, type TestDatabase } from '#test/database'
import { startTestGateway, type TestGateway } from '#test/gateway'
import { type IngestPlace, type IngestProcess, startIngestProcess } from '#test/ingest-process'
import { type Mosquitto, mosquittoMissing, startMosquitto } from '#test/mosquitto'
import { questdbConnection } from '#test/questdb'
import { newOrganization, newReportingDevices } from '#test/reporting-device'
import { until } from '#test/until'
import { freePort } from '../../../apps/stack/engines/process.ts'

let database: TestDatabase
let pool: OwnedPool
let questdb: QuestdbSql
let place: IngestPlace
let ingest: IngestProcess
let broker: Mosquitto
let gateway: TestGateway
let organizationId: string
const logDir = mkdtempSync(join(tmpdir(), 'killed-ingest-'))

beforeAll(async () => {
  if (mosquittoMissing !== null) return
  database = await createTestDatabase()
  pool = openPool(database.url, { applicationName: 'test' })
  questdb = openQuestdbSql(questdbConnection().pgUrl, { applicationName: 'test' })
  place = { postgresUrl: database.url, questdb: questdbConnection(), logDir, port: await freePort() }
  ingest = await startIngestProcess(place)
  broker = await startMosquitto()
  organizationId = await newOrganization(pool)
  gateway = await startTestGateway(
    { url: ingest.url, newGatewayKey: newKey },
    { MQTT_URL: broker.url, MQTT_CLIENT_ID: 'gateway', MQTT_RECEIVE_MAXIMUM: '50' },
  )
  await gateway.untilReady()
}, 120_000)
afterAll(async () => {
  await gateway?.stop()
  await broker?.close()
  await ingest?.end('SIGTERM')
  await Promise.all([pool?.end(), questdb?.end()])
  await database?.drop()
  rmSync(logDir, { recursive: true })
})

async function newKey(): Promise<string> {
  const { id, hash, token } = issueToken('fle')
  await pool.query(
    `INSERT INTO enrollment_key (id, organization_id, name, token_hash, auto_create, created_by, allow_gateway)
     VALUES ($1, $2, 'G', $3, false, 'test', true)`,
    [id, organizationId, hash],
  )
  return token
}

test('nothing is lost or doubled while ingest is killed, with and without times in the samples', async ({ skip }) => {
  if (mosquittoMissing !== null) return skip(mosquittoMissing)
  const deviceCount = 40
  const rounds = 12
  const devices = await newReportingDevices(pool, organizationId, deviceCount)
  const ids = devices.map(({ id }) => id)
  const { rows } = await pool.query<{ serial: string }>('SELECT serial FROM device WHERE id = ANY($1)', [ids])
  const client = await connectAsync(broker.url)
  const publish = (serial: string, sample: object) =>
    client.publishAsync(`routerfleet/${serial}/telemetry`, JSON.stringify({ samples: [sample] }), { qos: 1 })
  const startMs = Date.now() - 60_000
  for (let round = 0; round < rounds; round += 1) {
    if (round % 4 === 1) await ingest.end('SIGKILL')
    const timed = rows.map(({ serial }) =>
      publish(serial, { kind: 'system', ts: startMs + round * 1_000, cpuPct: round }),
    )
    await Promise.all(timed)
    // More messages than may wait in the gateway.
    if (round % 4 === 2) {
      await until('the window is full', async () => (await gateway.metric('gateway_waiting_messages')) === 50)
      ingest = await startIngestProcess(place)
    }
  }
  await ingest.end('SIGKILL')
  await Promise.all(rows.map(({ serial }) => publish(serial, { kind: 'cellular', rsrpDbm: -90 })))
  ingest = await startIngestProcess(place)
  const accepted = () => gateway.metric('gateway_messages_total', ['outcome="accepted"'])
  await until('the gateway has delivered all', async () => (await accepted()) === deviceCount * (rounds + 1), 60_000)
  const countOf = async (kind: string) => {
    const list = ids.map((id) => `'${id}'`).join(',')
    const [row] = await questdb.query<{ count: number }>(
      `SELECT count(*) AS count FROM ${kind} WHERE device_id IN (${list})`,
    )
    return Number(row?.count)
  }
  await until('all rows can be read', async () => (await countOf('system')) === deviceCount * rounds, 60_000)
  await until('a row of each device', async () => (await countOf('cellular')) === deviceCount, 60_000)
  expect([await countOf('system'), await countOf('cellular')]).toEqual([deviceCount * rounds, deviceCount])
  expect(await gateway.metric('gateway_messages_total', ['outcome="refused"'])).toBe(0)
  await client.endAsync()
}, 180_000)
