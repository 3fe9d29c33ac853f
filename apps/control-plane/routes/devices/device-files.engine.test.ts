import { randomUUID } from 'node:crypto'
import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#core/ids'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { seedDevices } from '#test/seed-devices'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

type Sent = { token: string; type?: string; query?: string; headers?: Record<string, string> }

const importFile = (organizationId: string, body: string, { token, type = 'text/csv', query = '', headers }: Sent) =>
  api.call('POST', `/devices/import?orgId=${organizationId}${query}`, {
    token,
    body,
    headers: { 'content-type': type, ...headers },
  })

const csv = (serials: string[]) =>
  ['serial,name,model,tags', ...serials.map((serial) => `${serial},Router ${serial},RX400,bus;night`)].join('\r\n')

const countDevices = async (organizationId: string) => {
  const { rows } = await api.services.pool.query(
    `SELECT count(*)::int AS devices, (SELECT device_count FROM organization_usage WHERE organization_id = $1) AS counted
     FROM device WHERE organization_id = $1`,
    [organizationId],
  )
  return rows[0]
}

describe('POST /devices/import', () => {
  test('429 rate_limited when too many imports of the organization are waiting', async () => {
    const { id, key: token } = await api.newOrganization()
    const free = Promise.withResolvers<void>()
    const { importLine, authenticator } = api.services
    const { rateLimit } = await authenticator.authenticate(`Bearer ${token}`)
    const first = importLine.run(rateLimit.key, () => free.promise)
    const waiting = Array.from({ length: 16 }, () => importLine.run(rateLimit.key, async () => {}))
    const refused = await importFile(id, csv(['L1']), { token })
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect(refused.headers.get('retry-after')).toBe('5')
    free.resolve()
    await Promise.all([first, ...waiting])
    expect((await importFile(id, csv(['L1']), { token })).status).toBe(200)
  })

  test('409 idempotency_in_progress while the first import with the key waits for its turn', async () => {
    const { id, key: token } = await api.newOrganization()
    const free = Promise.withResolvers<void>()
    const { importLine, authenticator } = api.services
    const { rateLimit } = await authenticator.authenticate(`Bearer ${token}`)
    const other = importLine.run(rateLimit.key, () => free.promise)
    const send = () => importFile(id, csv(['L1']), { token, headers: { 'idempotency-key': 'patient' } })
    const answers = [send(), send()]
    const [refused] = await Promise.race(answers.map(async (answer) => [await answer]))
    expect(refused).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } })
    free.resolve()
    await other
    expect((await Promise.all(answers)).map(({ status }) => status).sort()).toEqual([200, 409])
    expect((await send()).headers.get('idempotency-replayed')).toBe('true')
  })

  test('200 with an Idempotency-Key, also if a failed row has text that cannot be stored', async () => {
    const { id, key: token } = await api.newOrganization()
    const rows = ['{"serial":"A1","name":"n","model":"m"}', '{"serial":"A2","name":"n","model":"m","a\\u0000":1}']
    const send = () =>
      importFile(id, rows.join('\n'), {
        token,
        type: 'application/x-ndjson',
        headers: { 'idempotency-key': 'odd-names' },
      })
    expect(await send()).toMatchObject({ status: 200, body: { created: 1, results: [{}, { code: 'invalid_row' }] } })
    expect(await send()).toMatchObject({ status: 200, body: { created: 1 } })
  })

  test('200 creates the rows of a CSV file and returns the result of each', async () => {
    const { id, key } = await api.newOrganization()
    await seedDevices(api.services.pool, id, 1)
    const file = `\ufeffname,serial,tags,model\n"Bus, 1",A1, bus ; night;,RX400\n,A2,,RX400\nBus 3,A1,,RX400\nBus 4,A4\n\nBus 5,A5,,RX400,surplus\n`
    const { status, body } = await importFile(id, file, { token: key })
    expect(status).toBe(200)
    expect(body).toEqual({
      created: 1,
      updated: 0,
      results: [
        { index: 0, line: 2, status: 'created', id: expect.any(String) },
        { index: 1, line: 3, status: 'failed', code: 'invalid_row', detail: 'name is empty.' },
        { index: 2, line: 4, status: 'failed', code: 'serial_taken', detail: expect.stringContaining('A1') },
        { index: 3, line: 5, status: 'failed', code: 'invalid_row', detail: 'model is missing.' },
        { index: 4, line: 7, status: 'failed', code: 'invalid_row', detail: expect.stringContaining('surplus') },
      ],
    })
    expect((await api.call('GET', `/devices/${body.results[0].id}`, { token: key })).body).toMatchObject({
      serial: 'A1',
      name: 'Bus, 1',
      tags: ['bus', 'night'],
      status: 'provisioning',
    })
    expect(await countDevices(id)).toEqual({ devices: 2, counted: 2 })
  })

  test('200 for NDJSON, where an invalid line fails alone', async () => {
    const { id, key } = await api.newOrganization()
    const good = JSON.stringify({ serial: 'A1', name: 'Bus 1', model: 'RX400', tags: ['bus'] })
    const foreign = JSON.stringify({ serial: 'A2', name: 'Bus 2', model: 'RX400', organizationId: newId() })
    const type = 'application/x-ndjson'
    const { body } = await importFile(id, `${good}\n{"serial":\n\n${foreign}\n`, { token: key, type })
    expect(body).toMatchObject({
      created: 1,
      results: [
        { status: 'created' },
        { code: 'invalid_row', detail: 'This line is not JSON.' },
        { code: 'invalid_row' },
      ],
    })
  })

  test('200 with existing=update: an exported file can be corrected and imported again', async () => {
    const { id, key } = await api.newOrganization()
    await importFile(id, csv(['A1', 'A2', 'A3']), { token: key })
    const file = await (
      await api.fetch(`/devices/export?format=csv&orgId=${id}`, { headers: { authorization: `Bearer ${key}` } })
    ).text()
    expect((await importFile(id, file, { token: key })).body).toMatchObject({ created: 0, updated: 0 })
    const corrected = file.replace('Router A2', 'Crane 2').replace(/(.*A3.*)bus;night/, '$1port')
    const { status, body } = await importFile(id, corrected, { token: key, query: '&existing=update' })
    expect(status).toBe(200)
    expect(body).toMatchObject({ created: 0, updated: 3, results: [{ status: 'updated' }, {}, {}] })
    const { items } = (await api.call('GET', `/devices?orgId=${id}&sort=serial`, { token: key })).body
    expect(items.map(({ name, tags }: { name: string; tags: string[] }) => [name, tags])).toEqual([
      ['Router A1', ['bus', 'night']],
      ['Crane 2', ['bus', 'night']],
      ['Router A3', ['port']],
    ])
    const { rows } = await api.services.pool.query(
      "SELECT detail FROM audit_entry WHERE organization_id = $1 AND action = 'device.updated' ORDER BY id",
      [id],
    )
    expect(rows.map(({ detail }) => detail)).toEqual(expect.arrayContaining([{ name: 'Crane 2' }, { tags: ['port'] }]))
    expect(rows).toHaveLength(2)
    const creator = await api.newKey([id], ['device:create'])
    expect((await importFile(id, corrected, { token: creator, query: '&existing=update' })).status).toBe(403)
  })

  test('200 with existing=update and no column tags: devices keep their tags', async () => {
    const { id, key } = await api.newOrganization()
    await importFile(id, csv(['A1']), { token: key })
    const file = 'serial;name;model\nA1;Bus 1;RX500\nA1;Bus 2;RX500\nA9;Bus 9;RX500\n'
    const { body } = await importFile(id, file, { token: key, query: '&existing=update' })
    expect(body).toMatchObject({
      ...{ created: 1, updated: 1 },
      results: [{ status: 'updated' }, { status: 'failed', line: 3, code: 'serial_taken' }, { status: 'created' }],
    })
    const { items } = (await api.call('GET', `/devices?orgId=${id}&q=a1`, { token: key })).body
    expect(items).toMatchObject([{ name: 'Bus 1', model: 'RX500', tags: ['bus', 'night'] }])
  })

  test('200 imports notes, which an export has; existing=update keeps them without the column, and removes them with an empty cell', async () => {
    const { id, key } = await api.newOrganization()
    const send = (file: string, type = 'text/csv') =>
      importFile(id, file, { token: key, type, query: '&existing=update' })
    const read = async () =>
      (await api.call('GET', `/devices?orgId=${id}&sort=serial`, { token: key })).body.items.map(
        ({ notes }: { notes: string | null }) => notes,
      )
    const written = ['- under the seat,\n"Key 14"; \'=1', null]
    await send('serial,name,model,Notes\nA1,n,m,"- under the seat,\r\n""Key 14""; \'=1"\nA2,n,m\n')
    expect(await read()).toEqual(written)
    const headers = { authorization: `Bearer ${key}` }
    const exported = await (await api.fetch(`/devices/export?orgId=${id}`, { headers })).text()
    expect(parse(exported, { columns: true })).toMatchObject([{ notes: '' }, { notes: `'${written[0]}` }])
    expect((await send(exported)).body.updated).toBe(2)
    await send('serial,name,model\nA1,New,m\n')
    expect(await read()).toEqual(written)
    await send('serial,name,model,notes\nA1,New,m\nA2,n,m,x\n')
    expect(await read()).toEqual([null, 'x'])
    await send(
      '{"serial":"A1","name":"New","model":"m","notes":"y"}\n{"serial":"A2","name":"n","model":"m","notes":null}',
      'application/x-ndjson',
    )
    expect(await read()).toEqual(['y', null])
    const { rows } = await api.services.pool.query(
      "SELECT detail FROM audit_entry WHERE organization_id = $1 AND action = 'device.updated' ORDER BY id",
      [id],
    )
    const changes = [{ name: 'New' }, { notes: 'removed' }, { notes: 'changed' }]
    expect(rows.slice(0, 3).map(({ detail }) => detail)).toEqual(expect.arrayContaining(changes))
    expect(rows).toHaveLength(5)
    const { body } = await send(`serial,name,model,notes\nA3,n,m,${'x'.repeat(4_001)}\n`)
    expect(body.results).toMatchObject([{ code: 'invalid_row', detail: 'notes is longer than 4000 characters.' }])
  })

  test('200 finds a device by a serial in another case or encoding; of two older ones, that with the same spelling', async () => {
    const { id, key } = await api.newOrganization()
    const update = (rows: string[]) =>
      importFile(id, ['serial,name,model,tags', ...rows].join('\n'), { token: key, query: '&existing=update' })
    await update(['K\u00fchl-1,a,R,', 'sn-2,a,R,'])
    await api.services.pool.query(
      `ALTER TABLE device DISABLE TRIGGER USER; INSERT INTO device (id, organization_id, serial, name, model, tags, shares_serial)
       VALUES (uuidv7(), '${id}', 'SN-2', 'a', 'R', '{x;y}', true); ALTER TABLE device ENABLE TRIGGER USER`,
    )
    const again = await update([
      'KU\u0308HL-1,b,R,',
      'sn-2,c,R,',
      'SN-2,d,R,"""x;y"";z"',
      'Sn-2,e,R,',
      'new,f,R,"""x;y"""',
    ])
    expect(again.body).toMatchObject({ created: 0, updated: 3 })
    expect(again.body.results.slice(3)).toMatchObject([
      { code: 'serial_taken' },
      { code: 'invalid_row', detail: 'Tag "x;y": Semicolons are not allowed.' },
    ])
    const exported = await api.call('GET', `/devices/export?orgId=${id}`, { token: key })
    expect((await importFile(id, exported.body, { token: key, query: '&existing=update' })).body).toMatchObject({
      updated: 3,
    })
    const { body } = await api.call('GET', '/devices?sort=name', { token: key })
    expect(
      body.items.map((device: { serial: string; name: string; tags: string[] }) => [
        device.serial,
        device.name,
        device.tags,
      ]),
    ).toEqual([
      ['K\u00fchl-1', 'b', []],
      ['sn-2', 'c', []],
      ['SN-2', 'd', ['x;y', 'z']],
    ])
  })

  test('200 for UTF-16 with and without a byte order mark; 400 invalid_encoding for other bytes', async () => {
    const { id, key } = await api.newOrganization()
    const send = (body: Uint8Array<ArrayBuffer>) =>
      api.call('POST', `/devices/import?orgId=${id}`, { token: key, body, headers: { 'content-type': 'text/csv' } })
    const file = (serial: string, start = '') =>
      Buffer.from(`${start}serial\tname\tmodel\n${serial}\tZ\u00fcrich\tR\n`, 'utf16le')
    for (const body of [file('A', '\ufeff'), file('B').swap16(), file('C'), file('D', '\ufeff').swap16()]) {
      expect((await send(body)).body).toMatchObject({ created: 1 })
    }
    const { body } = await api.call('GET', '/devices?q=Z%C3%9CRICH', { token: key })
    expect(body.items).toHaveLength(4)
    const latin = Buffer.from('serial,name,model\nE,Z\u00fcrich,R\n', 'latin1')
    expect(await send(latin)).toMatchObject({ status: 400, body: { code: 'invalid_encoding' } })
  })

  test('200 with tokens returns a working token for each device; the same Idempotency-Key returns 409 already_issued', async () => {
    const { id, key } = await api.newOrganization()
    const headers = { 'idempotency-key': randomUUID() }
    const sent = { token: key, query: '&tokens=true', headers }
    const { body } = await importFile(id, csv(['A1', 'A2']), sent)
    expect(body.results.map(({ token }: { token: string }) => token)).toEqual([
      expect.stringMatching(/^fld_/),
      expect.stringMatching(/^fld_/),
    ])
    expect(await importFile(id, csv(['A1', 'A2']), sent)).toMatchObject({
      status: 409,
      body: { code: 'already_issued' },
    })
  })

  test('200 is replayed for the same Idempotency-Key without tokens', async () => {
    const { id, key } = await api.newOrganization()
    const sent = { token: key, headers: { 'idempotency-key': randomUUID() } }
    const first = await importFile(id, csv(['A1']), sent)
    const second = await importFile(id, csv(['A1']), sent)
    expect(second).toMatchObject({ status: 200, body: first.body })
    expect(second.headers.get('idempotency-replayed')).toBe('true')
  })

  test('200 with dryRun says what would happen, as the import then does, and changes nothing', async () => {
    const { id, key: token } = await api.newOrganization()
    await importFile(id, csv(['A1']), { token })
    const file = `${csv(['A1', 'A2', 'A2'])}\r\nA3,,RX400,`
    const headers = { 'idempotency-key': randomUUID() }
    const query = '&existing=update&tokens=true'
    const before = await countDevices(id)
    const planned = await importFile(id, file, { token, query: `${query}&dryRun=true`, headers })
    expect(await countDevices(id)).toEqual(before)
    const done = await importFile(id, file, { token, query, headers })
    const withoutNew = (results: Record<string, unknown>[]) =>
      results.map(({ id: deviceId, token: _token, ...result }) =>
        result.status === 'created' ? result : { ...result, id: deviceId },
      )
    expect(planned.status).toBe(200)
    expect(planned.body).toEqual({ ...done.body, results: JSON.parse(JSON.stringify(withoutNew(done.body.results))) })
    expect(planned.body).toMatchObject({ created: 1, updated: 1 })
    const atomic = await importFile(id, file, { token, query: '&atomic=true&dryRun=true' })
    expect([atomic.status, atomic.body.code]).toEqual([422, 'import_failed'])
  })

  test('200 creates devices up to the quota, also for concurrent imports', async () => {
    const { id, key } = await api.newOrganization({ plan: 'free' })
    const files = Array.from({ length: 8 }, (_, file) => csv(Array.from({ length: 4 }, (_, row) => `S${file}-${row}`)))
    const answers = await Promise.all(files.map((file) => importFile(id, file, { token: key })))
    const created = answers.reduce((sum, { body }) => sum + body.created, 0)
    expect(created).toBe(10)
    expect(await countDevices(id)).toEqual({ devices: 10, counted: 10 })
    const codes = answers.flatMap(({ body }) => body.results.map(({ code }: { code?: string }) => code))
    expect(codes.filter((code) => code === 'device_quota_exceeded')).toHaveLength(22)
  })

  test('accepts 10,000 rows in one request', async () => {
    const { id, key } = await api.newOrganization()
    const serials = Array.from({ length: 10_000 }, (_, index) => `S${index}`)
    const { status, body } = await importFile(id, csv(serials), { token: key })
    expect([status, body.created]).toEqual([200, 10_000])
    expect(await countDevices(id)).toEqual({ devices: 10_000, counted: 10_000 })
  })

  test('400 without orgId, for an invalid header, for invalid quotes and without a body', async () => {
    const { id, key } = await api.newOrganization()
    const path = '/devices/import'
    const headers = { 'content-type': 'text/csv' }
    expect((await api.call('POST', path, { token: key, body: csv(['A1']), headers })).status).toBe(400)
    const answer = await importFile(id, 'serial,name,colour\nA1,Bus 1,red', { token: key })
    expect(answer).toMatchObject({
      status: 400,
      body: {
        errors: [
          { pointer: 'model', code: 'missing_column' },
          { pointer: 'colour', code: 'unknown_column' },
        ],
      },
    })
    expect((await importFile(id, 'serial,name,model\nA1,"Bus,RX400', { token: key })).body.code).toBe('invalid_csv')
    expect((await importFile(id, '', { token: key })).status).toBe(400)
  })

  test('402 under a suspended subscription', async () => {
    const { id, key } = await api.newOrganization()
    await api.services.pool.query("UPDATE organization SET subscription_status = 'suspended' WHERE id = $1", [id])
    expect((await importFile(id, csv(['A1']), { token: key })).status).toBe(402)
  })

  test('403 without device:create, 404 for another organization', async () => {
    const { id, key } = await api.newOrganization()
    const token = await api.newKey([id], 'viewer')
    expect((await importFile(id, csv(['A1']), { token })).status).toBe(403)
    expect((await importFile(newId(), csv(['A1']), { token: key })).status).toBe(404)
  })

  test('413 for 10,001 rows and for more than 8 MiB', async () => {
    const { id, key } = await api.newOrganization()
    const rows = csv(Array.from({ length: 10_001 }, (_, index) => `S${index}`))
    expect(await importFile(id, rows, { token: key })).toMatchObject({ status: 413, body: { code: 'too_many_rows' } })
    const bytes = 'x'.repeat(8 * 1024 * 1024 + 1)
    expect(await importFile(id, bytes, { token: key })).toMatchObject({ status: 413, body: { code: 'body_too_large' } })
  })

  test('415 for JSON', async () => {
    const { id, key } = await api.newOrganization()
    expect((await importFile(id, '[]', { token: key, type: 'application/json' })).status).toBe(415)
  })

  test('422 for atomic when one row fails, without creating any; 200 when none fails', async () => {
    const { id, key } = await api.newOrganization()
    const sent = { token: key, query: '&atomic=true' }
    expect(await importFile(id, csv(['A1', 'A2', 'A1']), sent)).toMatchObject({
      status: 422,
      body: {
        code: 'import_failed',
        created: 0,
        results: [{ code: 'not_created' }, { code: 'not_created' }, { index: 2, code: 'serial_taken' }],
      },
    })
    expect(await countDevices(id)).toEqual({ devices: 0, counted: 0 })
    expect(await importFile(id, csv(['A1', 'A2']), sent)).toMatchObject({ status: 200, body: { created: 2 } })
  })
})

describe('GET /devices/export', () => {
  test('200 streams every device once as CSV, newest first, with the filters of the list', async () => {
    const { id, key } = await api.newOrganization()
    const ids = await seedDevices(api.services.pool, id, 2_500, { tags: ['bus', 'night'] })
    await seedDevices(api.services.pool, id, 3)
    const answer = await api.call('GET', `/devices/export?orgId=${id}&tag=bus`, { token: key })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="devices.csv"')
    const rows: Record<string, string>[] = parse(answer.body, { columns: true })
    expect(rows.map((row) => row.id)).toEqual(ids.reverse())
    expect(rows[0]).toMatchObject({ organizationId: id, tags: 'bus;night', status: 'provisioning', lat: '' })
  })

  test('200 as NDJSON returns the devices as in the API', async () => {
    const { id, key } = await api.newOrganization()
    const [device] = await seedDevices(api.services.pool, id, 1)
    const answer = await api.fetch('/devices/export?format=ndjson', { headers: { authorization: `Bearer ${key}` } })
    expect(answer.headers.get('content-type')).toBe('application/x-ndjson')
    const shown = await api.call('GET', `/devices/${device}`, { token: key })
    expect(
      (await answer.text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([shown.body])
  })

  test('400 for an unknown format or filter, 403 without device:read, 404 for another organization', async () => {
    const { id, key } = await api.newOrganization()
    expect((await api.call('GET', '/devices/export?format=xlsx', { token: key })).status).toBe(400)
    expect((await api.call('GET', '/devices/export?colour=red', { token: key })).status).toBe(400)
    const token = await api.newKey([id], ['group:read'])
    expect((await api.call('GET', '/devices/export', { token })).status).toBe(403)
    expect((await api.call('GET', `/devices/export?orgId=${newId()}`, { token: key })).status).toBe(404)
  })
})
