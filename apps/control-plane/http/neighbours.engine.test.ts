import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { type Connection, type OwnedPool, openPool } from '#postgres/pool'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { until } from '#test/until'

let api: TestControlPlane
/** Holds locks and looks on. Not the pool of the control plane. */
let outside: OwnedPool
beforeAll(async () => {
  api = await startControlPlane()
  outside = openPool(api.databaseUrl, { applicationName: 'outside' })
})
afterAll(async () => {
  await outside.end()
  await api.close()
})

type Organization = { id: string; key: string }

const create = ({ id, key }: Organization, serial: string, headers = {}) =>
  api.call('POST', '/devices', {
    token: key,
    json: { organizationId: id, serial, name: serial, model: 'M', tags: [] },
    headers,
  })

const csv = (serials: readonly string[]) =>
  ['serial,name,model', ...serials.map((serial) => `${serial},R,M`)].join('\n')

const importFile = ({ id, key }: Organization, serials: readonly string[], query = '', idempotencyKey = newId()) =>
  api.call('POST', `/devices/import?orgId=${id}${query}`, {
    token: key,
    body: csv(serials),
    headers: { 'content-type': 'text/csv', 'idempotency-key': idempotencyKey },
  })

const rowsOf = (count: number, prefix = 'S') => Array.from({ length: count }, (_, index) => `${prefix}${index}`)

/** Number of the control plane's connections with this condition. */
async function countConnections(condition: string): Promise<number> {
  const { rowCount } = await outside.query(
    `SELECT FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'control-plane' AND ${condition}`,
  )
  return rowCount ?? 0
}
const waitForLock = (count = 1) =>
  until(`${count} transactions wait`, async () => (await countConnections("wait_event_type = 'Lock'")) >= count)

/** Runs `work` in a transaction from outside. Returns a function that ends it. */
async function beginOutside(work: (connection: Connection) => Promise<unknown>) {
  const connection = await outside.connect()
  await connection.query('BEGIN')
  await work(connection)
  return async (end: 'COMMIT' | 'ROLLBACK') => {
    await connection.query(end)
    connection.release()
  }
}

const lockUsage = (id: string) =>
  beginOutside((connection) =>
    connection.query('SELECT FROM organization_usage WHERE organization_id = $1 FOR UPDATE', [id]),
  )

/** Another transaction inserts a device, as an enrollment does, and has not ended yet. */
const insertOutside = (id: string, serial: string) =>
  beginOutside(async (connection) => {
    await connection.query(
      "INSERT INTO device (organization_id, id, serial, name, model) VALUES ($1, $2, $3, 'R', 'M')",
      [id, newId(), serial],
    )
  })

async function countDevices(id: string) {
  const { rows } = await outside.query<{ devices: number; counted: number }>(
    `SELECT count(*)::int AS devices,
       (SELECT device_count FROM organization_usage WHERE organization_id = $1) AS counted
     FROM device WHERE organization_id = $1`,
    [id],
  )
  return rows[0]
}

describe('a bystander', () => {
  test('is answered while transactions of two neighbours wait for locks and more of their requests for connections', async () => {
    const bystander = await api.newOrganization()
    const { body } = await create(bystander, 'B1')
    const neighbours = [await api.newOrganization(), await api.newOrganization()]
    const unlocks = await Promise.all(neighbours.map(({ id }) => lockUsage(id)))
    const crowd = neighbours.flatMap((neighbour) =>
      rowsOf(20).map((serial, index) => create(neighbour, serial, index % 2 ? { 'idempotency-key': newId() } : {})),
    )
    await waitForLock(2 * 5)
    const token = bystander.key
    for (let turn = 0; turn < 5; turn += 1) {
      expect((await api.call('GET', '/devices', { token })).status).toBe(200)
      expect((await api.call('GET', `/devices/${body.id}`, { token })).status).toBe(200)
      expect((await create(bystander, `B2-${turn}`)).status).toBe(201)
    }
    await Promise.all(unlocks.map((unlock) => unlock('ROLLBACK')))
    for (const { status } of await Promise.all(crowd)) expect([201, 429]).toContain(status)
  })

  test('is answered while imports with keys wait for their turn, which hold no connection', async () => {
    const [neighbour, bystander] = [await api.newOrganization(), await api.newOrganization()]
    const free = Promise.withResolvers<void>()
    const owner = `org:${neighbour.id}`
    const first = api.services.importLine.run(owner, () => free.promise)
    const imports = rowsOf(16, 'I').map((serial) => importFile(neighbour, [serial]))
    await until('the line is full', async () => {
      const probe = new AbortController()
      const place = api.services.importLine.run(owner, async () => 'empty', probe.signal).catch(({ code }) => code)
      probe.abort()
      return (await place) === 'rate_limited'
    })
    expect(await countConnections("state = 'idle in transaction'")).toBe(0)
    expect((await api.call('GET', '/devices', { token: bystander.key })).status).toBe(200)
    free.resolve()
    await first
    for (const answer of await Promise.all(imports)) expect(answer).toMatchObject({ status: 200, body: { created: 1 } })
    expect(await countDevices(neighbour.id)).toEqual({ devices: 16, counted: 16 })
  })
})

describe('an import', () => {
  test('does not lock the usage counter while it inserts its rows', async () => {
    const organization = await api.newOrganization()
    const end = await insertOutside(organization.id, 'S7')
    const importing = importFile(organization, rowsOf(20))
    await waitForLock()
    expect((await create(organization, 'enrolled meanwhile')).status).toBe(201)
    await end('ROLLBACK')
    expect(await importing).toMatchObject({ status: 200, body: { created: 20 } })
    expect(await countDevices(organization.id)).toEqual({ devices: 21, counted: 21 })
  })

  test('fails the row whose serial another transaction inserts meanwhile, and creates the others', async () => {
    const organization = await api.newOrganization()
    const end = await insertOutside(organization.id, 'S7')
    const key = newId()
    const importing = importFile(organization, rowsOf(10), '', key)
    await waitForLock()
    await end('COMMIT')
    const { status, body } = await importing
    expect([status, body.created]).toEqual([200, 9])
    expect(body.results[7]).toMatchObject({ index: 7, line: 9, status: 'failed', code: 'serial_taken' })
    expect(await importFile(organization, rowsOf(10), '', key)).toMatchObject({ status: 200, body })
    // The device from outside was not counted.
    expect(await countDevices(organization.id)).toEqual({ devices: 10, counted: 9 })
  })

  test.each([false, true])(
    'keeps the quota that another transaction uses up meanwhile (atomic: %s)',
    async (atomic) => {
      const organization = await api.newOrganization({ plan: 'free' })
      const end = await insertOutside(organization.id, 'S3')
      const importing = importFile(organization, rowsOf(10), `&atomic=${atomic}`)
      await waitForLock()
      expect((await create(organization, 'faster')).status).toBe(201)
      await end('ROLLBACK')
      const { status, body } = await importing
      expect(status).toBe(atomic ? 422 : 200)
      expect(body.created).toBe(atomic ? 0 : 9)
      expect(body.results[9]).toMatchObject({ status: 'failed', code: 'device_quota_exceeded' })
      const count = atomic ? 1 : 10
      expect(await countDevices(organization.id)).toEqual({ devices: count, counted: count })
      const { rowCount: events } = await outside.query(
        "SELECT FROM audit_entry WHERE organization_id = $1 AND action = 'device.created'",
        [organization.id],
      )
      expect(events).toBe(count)
    },
  )

  test('and single devices with the same serials never exceed the quota', async () => {
    const organization = await api.newOrganization({ plan: 'free' })
    const answers = await Promise.all([
      ...[rowsOf(8), rowsOf(8).reverse()].map((serials) => importFile(organization, serials)),
      ...rowsOf(12).map((serial) => create(organization, serial)),
    ])
    for (const { status } of answers) expect([200, 201, 403, 409]).toContain(status)
    expect(await countDevices(organization.id)).toEqual({ devices: 10, counted: 10 })
  })
})

test('a transfer and a deletion do not lock the usage counter while they wait for other rows', async () => {
  const [from, to] = [await api.newOrganization(), await api.newOrganization()]
  const token = await api.newKey([from.id, to.id], 'admin')
  const moved = (await create(from, 'moved')).body
  const deleted = (await create(from, 'deleted')).body
  const version = async (id: string) => (await api.call('GET', `/devices/${id}`, { token })).headers.get('etag') ?? ''
  const [movedVersion, deletedVersion] = [await version(moved.id), await version(deleted.id)]
  const end = await insertOutside(to.id, 'moved')
  const hold = await beginOutside((connection) =>
    connection.query('SELECT FROM device_ownership WHERE device_id = $1 FOR UPDATE', [deleted.id]),
  )
  const transfer = api.call('POST', `/devices/${moved.id}/transfer`, {
    token,
    json: { toOrgId: to.id },
    headers: { 'if-match': movedVersion },
  })
  const deletion = api.call('DELETE', `/devices/${deleted.id}`, { token, headers: { 'if-match': deletedVersion } })
  await waitForLock(2)
  expect((await create(from, 'other')).status).toBe(201)
  expect((await create(to, 'other')).status).toBe(201)
  await Promise.all([end('ROLLBACK'), hold('ROLLBACK')])
  expect((await transfer).status).toBe(200)
  expect((await deletion).status).toBe(204)
  expect(await countDevices(from.id)).toEqual({ devices: 1, counted: 1 })
  expect(await countDevices(to.id)).toEqual({ devices: 2, counted: 2 })
})
