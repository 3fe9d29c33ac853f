import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { applyDeviceReports } from '#fleet/devices/reported/device-reports'
import { sweepOffline } from '#fleet/devices/reported/offline'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { failFor } from '#test/failing-organization'
import { recordedRounds } from '#test/recorded-rounds'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

type Organization = { id: string; key: string }

async function create(organization: Organization, serial = 'SN-1') {
  const json = { organizationId: organization.id, serial, name: 'Bus 42', model: 'RX-500', tags: ['bus'] }
  return (await api.call('POST', '/devices', { token: organization.key, json })).body
}
const patch = (organization: Organization, id: string, json: unknown, headers = {}) =>
  api.call('PATCH', `/devices/${id}`, { token: organization.key, json, headers })
const actions = async (organization: Organization, subjectId: string) =>
  (
    await api.call('GET', `/orgs/${organization.id}/audit?subjectId=${subjectId}`, { token: organization.key })
  ).body.items.map(({ action }: { action: string }) => action)

describe('GET /devices/:id', () => {
  test('304 if If-None-Match has the current ETag', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    const first = await api.call('GET', `/devices/${id}`, { token: organization.key })
    const headers = { 'if-none-match': first.headers.get('etag') ?? '' }
    const again = await api.call('GET', `/devices/${id}`, { token: organization.key, headers })
    expect(again).toMatchObject({ status: 304, body: '' })
    await patch(organization, id, { name: 'Other' })
    expect((await api.call('GET', `/devices/${id}`, { token: organization.key, headers })).status).toBe(200)
  })

  test('404 with the same body for another organization’s device, an unknown id and a malformed id', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    const foreign = await create(other)
    const read = (id: string) => api.call('GET', `/devices/${id}`, { token: mine.key })
    const [seen, absent, malformed] = [
      await read(foreign.id),
      await read('0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f'),
      await read('42'),
    ]
    expect([seen.status, absent.status, malformed.status]).toEqual([404, 404, 404])
    const shapeOf = (answer: typeof seen) => ({ ...answer.body, requestId: '', detail: '' })
    expect(shapeOf(absent)).toEqual(shapeOf(seen))
    expect(shapeOf(malformed)).toEqual(shapeOf(seen))
  })

  test('403 without device:read', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    const token = await api.newKey([organization.id], ['org:read'])
    expect((await api.call('GET', `/devices/${id}`, { token })).status).toBe(403)
  })
})

describe('PATCH /devices/:id', () => {
  test('200 changes name, tags and status, with an audit record for each', async () => {
    const organization = await api.newOrganization()
    const { id, serial } = await create(organization)
    const answer = await patch(organization, id, { name: 'New', tags: ['x', 'x'], status: 'disabled', serial })
    expect(answer).toMatchObject({ status: 200, body: { name: 'New', tags: ['x'], status: 'disabled' } })
    expect(await actions(organization, id)).toEqual(['device.status_changed', 'device.updated', 'device.created'])
    expect((await patch(organization, id, { status: 'online' })).body.status).toBe('online')
  })

  test('200 changes, keeps and removes notes; the audit log names the change without the text', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    const first = await patch(organization, id, { notes: ' Under the seat.\r\n\tKey 14 ' })
    expect(first).toMatchObject({ status: 200, body: { notes: 'Under the seat.\n\tKey 14' } })
    const tag = first.headers.get('etag') ?? ''
    expect((await patch(organization, id, { notes: first.body.notes })).headers.get('etag')).toBe(tag)
    const found = await api.call('GET', `/devices?orgId=${organization.id}&q=seat`, { token: organization.key })
    expect(found.body.items).toEqual([])
    expect((await patch(organization, id, { name: 'New' })).body.notes).toBe(first.body.notes)
    expect(await patch(organization, id, { notes: null }, { 'if-match': tag })).toMatchObject({ status: 412 })
    expect((await patch(organization, id, { notes: '' })).body.notes).toBeNull()
    await patch(organization, id, { notes: '-' })
    expect((await patch(organization, id, { notes: null })).body.notes).toBeNull()
    const path = `/orgs/${organization.id}/audit?action=device.updated`
    const { items } = (await api.call('GET', path, { token: organization.key })).body
    expect(items.map(({ detail }: { detail: object }) => detail).reverse()).toEqual([
      { notes: 'changed' },
      { name: 'New' },
      { notes: 'removed' },
      { notes: 'changed' },
      { notes: 'removed' },
    ])
  })

  test('200 without notes for a caller that lacks device:read', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    await patch(organization, id, { notes: 'Key 14' })
    const key = await api.newKey([organization.id], ['device:update'])
    expect(await patch({ ...organization, key }, id, { name: 'New' })).toMatchObject({
      status: 200,
      body: { name: 'New', notes: null },
    })
    const { body } = await api.call('GET', `/devices/${id}`, { token: organization.key })
    expect(body.notes).toBe('Key 14')
  })

  test.each<[what: string, notes: unknown]>([
    ['that are too long', 'x'.repeat(4_001)],
    ['with a control character', 'a\u0007b'],
    ['with an invisible character', 'a\u202eb'],
    ['that are a number', 7],
    ['that are a list', ['a']],
  ])('400 for notes %s', async (_what, notes) => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    expect(await patch(organization, id, { notes })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/notes' }] },
    })
    expect((await patch(organization, id, { notes: 'x'.repeat(4_000) })).status).toBe(200)
  })

  test('400 for another serial, no change, an unknown field and an unknown status', async () => {
    const organization = await api.newOrganization()
    const { id, serial } = await create(organization)
    expect(await patch(organization, id, { serial: 'SN-2' })).toMatchObject({
      status: 400,
      body: { code: 'serial_immutable' },
    })
    for (const json of [{}, { serial }, { firmware: '9' }, { status: 'broken' }, { name: null }, []]) {
      expect((await patch(organization, id, json)).status).toBe(400)
    }
  })

  test('200 keeps an older tag that a device cannot get any more, and lists and removes it', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    const tags = ['bus;night', 'a\u200bb']
    await api.services.pool.query('UPDATE device SET tags = $2 WHERE id = $1', [id, tags])
    expect((await patch(organization, id, { tags: [...tags, 'new'] })).body.tags).toEqual([...tags, 'new'])
    expect(await patch(organization, id, { tags: ['bus;day'] })).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/tags', detail: 'Tag "bus;day": Semicolons are not allowed.' }] },
    })
    const query = `tag=${encodeURIComponent('bus;night')}&tag=${encodeURIComponent('a\u200bb')}`
    const listed = await api.call('GET', `/devices?${query}`, { token: organization.key })
    expect(listed.body.items).toHaveLength(1)
    const json = { filter: { tag: ['bus;night'] }, remove: tags }
    const removed = await api.call('POST', `/orgs/${organization.id}/device-tags`, { token: organization.key, json })
    expect(removed.body).toMatchObject({ matched: 1, changed: 1 })
  })

  test('402 under a cancelled subscription for all callers', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    const json = { plan: 'pro', status: 'cancelled' }
    await api.call('PUT', `/orgs/${organization.id}/subscription`, { token: api.platformKey, json })
    expect((await patch(organization, id, { name: 'New' })).status).toBe(402)
    expect((await patch({ ...organization, key: api.platformKey }, id, { name: 'New' })).status).toBe(402)
    expect((await api.call('GET', `/devices/${id}`, { token: organization.key })).status).toBe(200)
    expect((await api.call('DELETE', `/devices/${id}`, { token: organization.key })).status).toBe(204)
  })

  test('403 without device:update, 404 for another organization’s device', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    const { id } = await create(mine)
    expect((await patch({ ...mine, key: await api.newKey([mine.id], 'viewer') }, id, { name: 'New' })).status).toBe(403)
    expect((await patch(other, id, { name: 'New' })).status).toBe(404)
    expect((await patch(other, id, { notes: 'New' })).status).toBe(404)
  })

  test('412 if If-Match has an older state; telemetry in between has no effect', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    const tag = (await api.call('GET', `/devices/${id}`, { token: organization.key })).headers.get('etag') ?? ''
    const report = { deviceId: id, organizationId: organization.id, seenAtMs: Date.now() }
    await applyDeviceReports(api.services, [report])
    expect((await patch(organization, id, { name: 'One' }, { 'if-match': tag })).status).toBe(200)
    expect(await patch(organization, id, { name: 'Two' }, { 'if-match': tag })).toMatchObject({
      status: 412,
      body: { code: 'precondition_failed' },
    })
    expect((await patch(organization, id, { name: 'Three' }, { 'if-match': '*' })).status).toBe(200)
  })
})

describe('DELETE /devices/:id', () => {
  test('204, then 404; its quota is released, and its serial can be registered again', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    expect((await api.call('DELETE', `/devices/${id}`, { token: organization.key })).status).toBe(204)
    expect((await api.call('GET', `/devices/${id}`, { token: organization.key })).status).toBe(404)
    expect((await api.call('DELETE', `/devices/${id}`, { token: organization.key })).status).toBe(404)
    const usage = await api.call('GET', `/orgs/${organization.id}/usage`, { token: organization.key })
    expect(usage.body.devices.used).toBe(0)
    expect((await create(organization)).id).not.toBe(id)
    const { rows } = await api.services.pool.query('SELECT 1 FROM erasure_request WHERE device_id = $1', [id])
    expect(rows).toHaveLength(1)
  })

  test('403 without device:delete', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    const token = await api.newKey([organization.id], 'operator')
    expect((await api.call('DELETE', `/devices/${id}`, { token })).status).toBe(403)
  })
})

describe('automatic status', () => {
  const statusOf = async (organization: Organization, id: string) =>
    (await api.call('GET', `/devices/${id}`, { token: organization.key })).body.status
  const minute = 60_000

  test('changes with telemetry, faults and silence, with audit records; disabled devices keep their status', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    const { pool } = api.services
    const report = (more = {}, ageMs = 0) =>
      applyDeviceReports({ pool }, [
        { deviceId: id, organizationId: organization.id, seenAtMs: Date.now() - ageMs, ...more },
      ])
    const location = { lat: 51.9, lon: -8.5, tsMs: Date.now() + minute }
    await report({ firmware: '4.2', location }, 30 * minute)
    expect(await statusOf(organization, id)).toBe('online')
    await sweepOffline({ pool })
    expect(await statusOf(organization, id)).toBe('offline')
    await report({ fault: 'SIM removed' })
    expect(await statusOf(organization, id)).toBe('error')
    await report()
    expect(await statusOf(organization, id)).toBe('error')
    await report({ fault: null })
    expect(await statusOf(organization, id)).toBe('online')
    await patch(organization, id, { status: 'disabled' })
    await report()
    expect(await statusOf(organization, id)).toBe('disabled')
    expect(
      (await actions(organization, id)).filter((action: string) => action === 'device.status_changed'),
    ).toHaveLength(5)
    const { body } = await api.call('GET', `/devices/${id}`, { token: organization.key })
    expect(body).toMatchObject({ firmware: '4.2', location: { lat: 51.9, lon: -8.5, ts: expect.any(String) } })
  })

  test('marks a router that reports rarely as offline only after three reporting intervals', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    const { pool } = api.services
    for (const ageMs of [50 * minute, 30 * minute, 10 * minute]) {
      await applyDeviceReports({ pool }, [
        { deviceId: id, organizationId: organization.id, seenAtMs: Date.now() - ageMs },
      ])
    }
    await sweepOffline({ pool })
    expect(await statusOf(organization, id)).toBe('online')
  })

  test('marks a router as offline by its present reporting interval, also if it was longer when it was checked', async () => {
    const organization = await api.newOrganization()
    const [{ id }, other] = [await create(organization), await create(organization, 'SN-2')]
    const { pool } = api.services
    const report = (deviceId: string, ageMs: number) =>
      applyDeviceReports({ pool }, [{ deviceId, organizationId: organization.id, seenAtMs: Date.now() - ageMs }])
    for (const deviceId of [id, other.id])
      for (const ageMs of [100 * minute, 40 * minute]) await report(deviceId, ageMs)
    await sweepOffline({ pool }, { checkedTogether: 1 })
    expect([await statusOf(organization, id), await statusOf(organization, other.id)]).toEqual(['online', 'online'])
    for (let ageMs = 39 * minute; ageMs >= 20 * minute; ageMs -= minute) await report(id, ageMs)
    await sweepOffline({ pool }, { checkedTogether: 1 })
    expect([await statusOf(organization, id), await statusOf(organization, other.id)]).toEqual(['offline', 'online'])
  })

  test('a check whether a router is online does not change its row, and ends with the router', async () => {
    const organization = await api.newOrganization()
    const [{ id }, gone, silent] = [
      await create(organization),
      await create(organization, 'SN-2'),
      await create(organization, 'SN-3'),
    ]
    const { pool } = api.services
    const report = (deviceId: string, ageMs: number) =>
      applyDeviceReports({ pool }, [{ deviceId, organizationId: organization.id, seenAtMs: Date.now() - ageMs }])
    await Promise.all([report(id, 0), report(gone.id, 0), report(silent.id, 6 * minute)])
    await api.call('DELETE', `/devices/${gone.id}`, { token: organization.key })
    const before = await pool.query('SELECT xmin::text, ctid::text FROM device WHERE id = $1', [id])
    await sweepOffline({ pool })
    const after = await pool.query('SELECT xmin::text, ctid::text FROM device WHERE id = $1', [id])
    expect(after.rows).toEqual(before.rows)
    const checks = async () =>
      (
        await pool.query(
          'SELECT device_id, check_at > now() AS is_later FROM device_online_check WHERE device_id = ANY ($1)',
          [[id, gone.id, silent.id]],
        )
      ).rows
    expect(await checks()).toEqual([{ device_id: id, is_later: true }])
    // A person can say that a router is online. It is then checked as if it had reported.
    await patch(organization, silent.id, { status: 'online' })
    expect(await checks()).toHaveLength(2)
    await sweepOffline({ pool })
    expect(await statusOf(organization, silent.id)).toBe('offline')
    expect(await checks()).toHaveLength(1)
  })

  test('the checks of organizations take turns, and a failing organization does not stop the others', async () => {
    const [large, small] = [await api.newOrganization(), await api.newOrganization()]
    const { pool } = api.services
    const silent = async (organization: Organization, serial: string, ageMs: number) => {
      const { id } = await create(organization, serial)
      await applyDeviceReports({ pool }, [
        { deviceId: id, organizationId: organization.id, seenAtMs: Date.now() - ageMs },
      ])
      await pool.query('UPDATE device_online_check SET check_at = $2 WHERE device_id = $1', [
        id,
        new Date(Date.now() - ageMs),
      ])
      return id
    }
    const ofLarge = [await silent(large, 'SN-1', 30 * minute), await silent(large, 'SN-2', 29 * minute)]
    const ofSmall = await silent(small, 'SN-1', 6 * minute)
    await sweepOffline({ pool }, { checkedTogether: 1 })
    const { rows } = await pool.query<{ subject_id: string }>(
      "SELECT subject_id FROM audit_entry WHERE detail ->> 'reason' = 'silent' AND subject_id = ANY ($1) ORDER BY id",
      [[...ofLarge, ofSmall]],
    )
    expect(rows).toHaveLength(3)
    expect(rows[2]).toEqual({ subject_id: ofLarge[1] })

    const [broken, other] = [await silent(large, 'SN-3', 30 * minute), await silent(small, 'SN-2', 6 * minute)]
    const repair = await failFor(pool, 'device', large.id)
    const { rounds, failed } = recordedRounds()
    await sweepOffline({ pool }, { rounds })
    expect([await statusOf(large, broken), await statusOf(small, other)]).toEqual(['online', 'offline'])
    expect(failed).toEqual([large.id])
    await repair()
    await sweepOffline({ pool }, { rounds })
    expect(await statusOf(large, broken)).toBe('offline')
  })

  test('a check does not wait for a router that is being changed', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    const { pool } = api.services
    const seenAtMs = Date.now() - 6 * minute
    await applyDeviceReports({ pool }, [{ deviceId: id, organizationId: organization.id, seenAtMs }])
    const other = await pool.connect()
    try {
      await other.query('BEGIN')
      await other.query('SELECT FROM device WHERE id = $1 FOR UPDATE', [id])
      await sweepOffline({ pool })
      expect(await statusOf(organization, id)).toBe('online')
      await other.query('COMMIT')
    } finally {
      other.release()
    }
    // The next check follows a second later.
    await expect
      .poll(async () => {
        await sweepOffline({ pool })
        return statusOf(organization, id)
      })
      .toBe('offline')
  })

  test('a report changes no column of an index, and is not written twice', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    const { pool } = api.services
    const seenAtMs = Date.now()
    const location = { lat: 51.9, lon: -8.5, tsMs: seenAtMs }
    const report = (more: object) =>
      applyDeviceReports({ pool }, [{ deviceId: id, organizationId: organization.id, seenAtMs, ...more }])
    const indexed = await pool.query(`
      SELECT attname FROM pg_attribute a JOIN pg_index i ON i.indrelid = a.attrelid AND a.attnum = ANY (i.indkey)
       WHERE a.attrelid = 'device'::regclass`)
    const row = async () => (await pool.query('SELECT *, xmin::text FROM device WHERE id = $1', [id])).rows[0]
    await report({})
    const before = await row()
    await report({ seenAtMs: seenAtMs + minute, location, fault: null, firmware: '4.3' })
    const after = await row()
    for (const { attname } of indexed.rows) expect(after[attname]).toEqual(before[attname])
    for (const again of [{}, { location }, { seenAtMs: seenAtMs + minute, fault: null }, { firmware: '4.3' }])
      await report(again)
    expect((await row()).xmin).toBe(after.xmin)
    await report({ firmware: '4.4' })
    expect((await row()).firmware).toBe('4.4')
  })

  test('text that cannot be stored blocks neither its device nor the others of the batch', async () => {
    const [one, other] = [await api.newOrganization(), await api.newOrganization()]
    const [odd, plain] = [await create(one), await create(other)]
    const seenAtMs = Date.now()
    await applyDeviceReports(api.services, [
      { deviceId: odd.id, organizationId: one.id, seenAtMs, firmware: '4.2\0', fault: 'a\ud800\0' },
      { deviceId: plain.id, organizationId: other.id, seenAtMs },
    ])
    expect([await statusOf(one, odd.id), await statusOf(other, plain.id)]).toEqual(['error', 'online'])
    const { body } = await api.call('GET', `/devices/${odd.id}`, { token: one.key })
    expect(body.firmware).toBe('4.2\ufffd')
  })
})
