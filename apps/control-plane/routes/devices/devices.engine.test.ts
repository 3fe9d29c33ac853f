import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

const device = (organizationId: string, serial = 'SN-1', more = {}) => ({
  organizationId,
  serial,
  name: 'Bus 42',
  model: 'RX-500',
  tags: ['bus', 'bus', 'night'],
  ...more,
})

async function create(organization: { id: string; key: string }, serial?: string, more = {}) {
  const answer = await api.call('POST', '/devices', {
    token: organization.key,
    json: device(organization.id, serial, more),
  })
  expect(answer.status).toBe(201)
  return answer.body
}

describe('POST /devices', () => {
  test('201 creates a provisioning device with each tag once and a Location', async () => {
    const organization = await api.newOrganization()
    const answer = await api.call('POST', '/devices', { token: organization.key, json: device(organization.id) })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      id: expect.any(String),
      organizationId: organization.id,
      serial: 'SN-1',
      name: 'Bus 42',
      model: 'RX-500',
      tags: ['bus', 'night'],
      status: 'provisioning',
      lastSeenAt: null,
      firmware: null,
      configProfile: null,
      location: null,
      notes: null,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect(answer.headers.get('location')).toBe(`/devices/${answer.body.id}`)
    const read = await api.call('GET', `/devices/${answer.body.id}`, { token: organization.key })
    expect(read.body).toEqual(answer.body)
    expect(read.headers.get('etag')).toBe(answer.headers.get('etag'))
  })

  test('201 with notes of several lines; an empty text is none; 400 for notes that are too long', async () => {
    const organization = await api.newOrganization()
    const send = (serial: string, notes: string | null) =>
      api.call('POST', '/devices', { token: organization.key, json: device(organization.id, serial, { notes }) })
    const lines = 'Under the seat.\nKey 14'
    const { body } = await send('SN-1', lines.replace('\n', '\r\n'))
    expect(body.notes).toBe(lines)
    const listed = await api.call('GET', `/devices?orgId=${organization.id}`, { token: organization.key })
    expect(listed.body.items).toEqual([body])
    expect(await send('SN-2', ' ')).toMatchObject({ status: 201, body: { notes: null } })
    expect(await send('SN-3', null)).toMatchObject({ status: 201, body: { notes: null } })
    expect(await send('SN-4', 'x'.repeat(4_001))).toMatchObject({
      status: 400,
      body: { errors: [{ pointer: '/notes', code: 'too_big' }] },
    })
  })

  test('201 for a tag that is repeated more often than the limit of tags: it counts once', async () => {
    const organization = await api.newOrganization()
    const json = device(organization.id, 'SN-TAGS', { tags: Array.from({ length: 60 }, () => 'bus') })
    const answer = await api.call('POST', '/devices', { token: organization.key, json })
    expect(answer).toMatchObject({ status: 201, body: { tags: ['bus'] } })
  })

  test.each([
    ['a missing serial', { serial: undefined }, '/serial', 'invalid_type'],
    ['a blank name', { name: '   ' }, '/name', 'too_small'],
    ['a serial that is too long', { serial: 'x'.repeat(65) }, '/serial', 'too_big'],
    ['a control character', { model: 'RX\u0000' }, '/model', 'invalid_format'],
    ['half of a surrogate pair', { tags: ['\ud83d'] }, '/tags/0', 'custom'],
    ['an unknown field', { colour: 'red' }, '/colour', 'unknown_field'],
    ['an organization that is no id', { organizationId: 'mine' }, '/organizationId', 'invalid_format'],
    ['a tag that is no text', { tags: [1] }, '/tags/0', 'invalid_type'],
    ['more than 50 tags', { tags: Array.from({ length: 51 }, (_, n) => `tag ${n}`) }, '/tags', 'too_big'],
    ['140,000 wrong tags, with one error', { tags: Array.from({ length: 140_000 }, (_, n) => n) }, '/tags', 'too_big'],
  ])('400 %s', async (_what, more, pointer, code) => {
    const organization = await api.newOrganization()
    const answer = await api.call('POST', '/devices', {
      token: organization.key,
      json: device(organization.id, 'SN', more),
    })
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ pointer, code }] } })
  })

  test('400 with at most 50 errors, however many fields are wrong', async () => {
    const { id, key } = await api.newOrganization()
    const wrong = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`field${n}`, n]))
    const answer = await api.call('POST', '/devices', { token: key, json: device(id, 'SN', wrong) })
    expect(answer.status).toBe(400)
    expect(answer.body.errors).toHaveLength(50)
  })

  test('400 for a body that is not JSON, 415 without the JSON media type', async () => {
    const { key } = await api.newOrganization()
    const json = { 'content-type': 'application/json' }
    expect(await api.call('POST', '/devices', { token: key, body: '{', headers: json })).toMatchObject({
      status: 400,
      body: { code: 'invalid_json' },
    })
    expect(
      await api.call('POST', '/devices', { token: key, body: '{}', headers: { 'content-type': 'text/plain' } }),
    ).toMatchObject({
      status: 415,
      body: { code: 'unsupported_media_type' },
    })
  })

  test('401 without a token and with a device token', async () => {
    const organization = await api.newOrganization()
    const { id } = await create(organization)
    const { body } = await api.call('POST', `/devices/${id}/token`, { token: organization.key })
    expect((await api.call('POST', '/devices', { json: device(organization.id) })).status).toBe(401)
    expect((await api.call('POST', '/devices', { token: body.token, json: device(organization.id) })).status).toBe(401)
  })

  test('402 under a suspended subscription', async () => {
    const organization = await api.newOrganization()
    await api.services.pool.query("UPDATE organization SET subscription_status = 'suspended' WHERE id = $1", [
      organization.id,
    ])
    expect(
      await api.call('POST', '/devices', { token: organization.key, json: device(organization.id) }),
    ).toMatchObject({
      status: 402,
      body: { code: 'subscription_inactive' },
    })
  })

  test('403 without device:create', async () => {
    const { id } = await api.newOrganization()
    const token = await api.newKey([id], 'viewer')
    expect(await api.call('POST', '/devices', { token, json: device(id) })).toMatchObject({
      status: 403,
      body: { code: 'insufficient_scope' },
    })
  })

  test('403 above the quota, with limit and used', async () => {
    const organization = await api.newOrganization({ plan: 'free' })
    for (let n = 0; n < 10; n += 1) await create(organization, `SN-${n}`)
    expect(
      await api.call('POST', '/devices', { token: organization.key, json: device(organization.id, 'SN-10') }),
    ).toMatchObject({
      status: 403,
      body: { code: 'device_quota_exceeded', limit: 10, used: 10 },
    })
  })

  test('404 for another organization and for one that does not exist', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    const nowhere = '00000000-0000-4000-8000-000000000000'
    const foreign = await api.call('POST', '/devices', { token: mine.key, json: device(other.id) })
    const absent = await api.call('POST', '/devices', { token: mine.key, json: device(nowhere) })
    expect(foreign).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect(absent.body.detail.replace(nowhere, '')).toBe(foreign.body.detail.replace(other.id, ''))
    expect((await api.call('POST', '/devices', { token: api.platformKey, json: device(nowhere) })).status).toBe(404)
  })

  test('409 for a serial that exists in the organization; another organization can use it', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    await create(mine)
    expect(await api.call('POST', '/devices', { token: mine.key, json: device(mine.id) })).toMatchObject({
      status: 409,
      body: { code: 'serial_taken' },
    })
    await create(other)
  })

  test('409 for a serial that differs only in case or encoding; of two such requests at once, one succeeds', async () => {
    const mine = await api.newOrganization()
    const { serial } = await create(mine, 'Ku\u0308hl-ς1')
    expect(serial).toBe('K\u00fchl-ς1')
    const post = (json: unknown) => api.call('POST', '/devices', { token: mine.key, json })
    for (const same of ['K\u00fchl-ς1', 'KÜHL-Σ1', 'ku\u0308hl-σ1']) {
      expect((await post(device(mine.id, same))).body.code).toBe('serial_taken')
    }
    const answers = await Promise.all(['pair', 'PAIR', 'Pair'].map((one) => post(device(mine.id, one))))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409])
  })

  test('400 for invisible characters, and for a tag with a semicolon', async () => {
    const mine = await api.newOrganization()
    const details = async (more: object) => {
      const answer = await api.call('POST', '/devices', { token: mine.key, json: device(mine.id, 'S', more) })
      return [answer.status, answer.body.errors?.map(({ detail }: { detail: string }) => detail)]
    }
    for (const [code, character] of [
      ['U+200B', '\u200b'],
      ['U+202E', '\u202e'],
      ['U+2069', '\u2069'],
      ['U+FEFF', '\ufeff'],
      ['U+00AD', '\u00ad'],
      ['U+2028', '\u2028'],
      ['U+3164', '\u3164'],
      ['U+E0041', '\u{e0041}'],
    ]) {
      const refused = [400, [`Invisible characters are not allowed: ${code}.`]]
      for (const more of [{ serial: `S${character}1` }, { name: `a${character}b` }, { tags: [`a${character}b`] }]) {
        expect([more, await details(more)]).toEqual([more, refused])
      }
    }
    expect(await details({ tags: ['bus;night'] })).toEqual([400, ['Semicolons are not allowed.']])
    expect(await details({ tags: ['bus\nnight'] })).toEqual([400, ['Control characters are not allowed.']])
  })

  test('413 for a body larger than 1 MiB', async () => {
    const organization = await api.newOrganization()
    const json = device(organization.id, 'SN', { name: 'x'.repeat(1024 * 1024) })
    expect(await api.call('POST', '/devices', { token: organization.key, json })).toMatchObject({
      status: 413,
      body: { code: 'body_too_large' },
    })
  })
})
