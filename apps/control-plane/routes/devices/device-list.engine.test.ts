import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { folded } from '#client/folded'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { seedDevices } from '#test/seed-devices'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

type Organization = { id: string; key: string }

async function create(organization: Organization, serial: string, more = {}) {
  const json = { organizationId: organization.id, serial, name: `Router ${serial}`, model: 'RX-500', ...more }
  const answer = await api.call('POST', '/devices', { token: organization.key, json })
  expect(answer.status).toBe(201)
  return answer.body
}

const list = (organization: Organization, query = '') =>
  api.call('GET', `/devices${query}`, { token: organization.key })
const serials = (answer: { body: { items: { serial: string }[] } }) => answer.body.items.map(({ serial }) => serial)

describe('GET /devices', () => {
  test('200 lists newest first, only devices that the caller can read', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    await create(mine, 'A')
    await create(other, 'X')
    await create(mine, 'B')
    const answer = await list(mine)
    expect(serials(answer)).toEqual(['B', 'A'])
    expect(answer.body.nextCursor).toBeNull()
  })

  test('200 filters by organization, status, and all of several tags', async () => {
    const [a, b] = [await api.newOrganization(), await api.newOrganization()]
    const both = { id: a.id, key: await api.newKey([a.id, b.id], 'admin') }
    await create(a, 'A1', { tags: ['bus', 'night'] })
    const disabled = await create(a, 'A2', { tags: ['bus'] })
    await create(b, 'B1', { tags: ['night'] })
    await api.call('PATCH', `/devices/${disabled.id}`, { token: a.key, json: { status: 'disabled' } })
    expect(serials(await list(both))).toEqual(['B1', 'A2', 'A1'])
    expect(serials(await list(both, `?orgId=${a.id}`))).toEqual(['A2', 'A1'])
    expect(serials(await list(both, '?status=disabled'))).toEqual(['A2'])
    expect(serials(await list(both, '?tag=night'))).toEqual(['B1', 'A1'])
    expect(serials(await list(both, '?tag=night&tag=bus'))).toEqual(['A1'])
  })

  test('200 lists each device with a tag once, in pages, also if only the oldest of many devices have it', async () => {
    const mine = await api.newOrganization()
    const seed = (count: number, tags: string[]) => seedDevices(api.services.pool, mine.id, count, { tags })
    const old = await seed(5, ['old'])
    await seed(2_500, ['usual'])
    const recent = await seed(3, ['old', 'recent'])
    const paged = async (query: string) => {
      const found: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await list(mine, `?orgId=${mine.id}&limit=2&${query}${cursor && `&cursor=${cursor}`}`)
        for (const { id } of body.items) found.push(id)
        cursor = body.nextCursor
      }
      return found
    }
    const newestFirst = [...old, ...recent].reverse()
    expect(await paged('tag=old')).toEqual(newestFirst)
    expect(await paged('tag=old&tag=recent')).toEqual([...recent].reverse())
    expect(await paged('tag=old&tag=usual')).toEqual([])
    expect(await paged('tag=old&status=provisioning')).toEqual(newestFirst)
  })

  test('200 sorts by a key in both directions, in pages, with every filter', async () => {
    const mine = await api.newOrganization()
    for (const name of ['b', 'C', 'a', 'd', 'B']) await create(mine, `S-${name}-${name === 'B'}`, { name })
    const names = async (query: string) =>
      (await list(mine, query)).body.items.map(({ name }: { name: string }) => name)
    expect(await names('?sort=name')).toEqual(['a', 'b', 'B', 'C', 'd'])
    expect(await names('?sort=-name')).toEqual(['d', 'C', 'B', 'b', 'a'])
    expect(await names('?sort=createdAt')).toEqual(['b', 'C', 'a', 'd', 'B'])
    expect(await names('?sort=-name&q=s-b')).toEqual(['B', 'b'])
    for (const sort of ['name', '-name', 'lastSeenAt', '-lastSeenAt', 'status', 'firmware', 'model', '-serial']) {
      const paged: string[] = []
      let cursor: string | null = null
      do {
        const { body }: { body: { items: { name: string }[]; nextCursor: string | null } } = await list(
          mine,
          `?sort=${sort}&limit=2${cursor ? `&cursor=${cursor}` : ''}`,
        )
        paged.push(...body.items.map(({ name }) => name))
        cursor = body.nextCursor
      } while (cursor !== null)
      expect(paged).toEqual(await names(`?sort=${sort}`))
      expect(new Set(paged).size).toBe(5)
    }
    expect((await list(mine, '?sort=location')).status).toBe(400)
    const { nextCursor } = (await list(mine, '?sort=name&limit=2')).body
    expect((await list(mine, `?sort=-name&cursor=${nextCursor}`)).status).toBe(400)
  })

  test('200 with deviceId lists only these devices', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    const [a, , c] = [await create(mine, 'A'), await create(mine, 'B'), await create(mine, 'C')]
    const foreign = await create(other, 'X')
    const query = [a, c, foreign].map(({ id }) => `deviceId=${id}`).join('&')
    expect(serials(await list(mine, `?${query}`))).toEqual(['C', 'A'])
  })

  test('200 searches name, serial, model and organization name, case-insensitively, with literal wildcards', async () => {
    const a = await api.newOrganization({ name: 'Harbour of Cobh' })
    const b = await api.newOrganization()
    const both = { id: a.id, key: await api.newKey([a.id, b.id], 'viewer') }
    await create(a, 'SN-100%')
    await create(b, 'SN-1005', { name: 'Depot Nørrebro', model: 'ZX-9' })
    expect(serials(await list(both, '?q=HARBOUR%20OF'))).toEqual(['SN-100%'])
    expect(serials(await list(both, '?q=n%C3%B8rre'))).toEqual(['SN-1005'])
    expect(serials(await list(both, '?q=zx-9'))).toEqual(['SN-1005'])
    expect(serials(await list(both, '?q=sn-100'))).toEqual(['SN-1005', 'SN-100%'])
    expect(serials(await list(both, '?q=100%25'))).toEqual(['SN-100%'])
    expect(serials(await list(both, '?q=nothing-like-it'))).toEqual([])
  })

  test('200 finds a text by itself, in any case and encoding, on every path of a search', async () => {
    const mine = await api.newOrganization()
    const found = async (q: string) => {
      const query = `q=${encodeURIComponent(q)}`
      const [newest, sorted, counts] = await Promise.all([
        list(mine, `?${query}`),
        list(mine, `?${query}&sort=name`),
        api.call('GET', `/orgs/${mine.id}/device-counts?${query}`, { token: mine.key }),
      ])
      expect(serials(sorted).toSorted()).toEqual(serials(newest).toSorted())
      expect(counts.body.total).toBe(serials(newest).length)
      return serials(newest)
    }
    const names = ['İzmir Tram', 'Isparta', 'ΝΑΥΣ 7', 'Fußweg', 'Ma\u0308rz', 'ŁÓDŹ', 'plain']
    for (const [index, name] of names.entries()) await create(mine, `S${index}`, { name })
    const expected: [serial: string, ...texts: string[]][] = [
      ['S0', 'İzmir', 'İZMIR', 'izmir', 'İzmİR'],
      ['S1', 'ISPARTA', 'ısparta', 'isparta'],
      ['S2', 'ΝΑΥΣ', 'ναυς', 'ναυσ'],
      ['S3', 'Fußweg', 'FUSSWEG', 'fuẞweg'],
      ['S4', 'Ma\u0308rz', 'M\u00e4rz', 'MÄRZ'],
      ['S5', 'łódź', 'Ło\u0301dz\u0301', 'ód'],
    ]
    for (const [serial, ...texts] of expected) {
      for (const text of texts) expect([text, await found(text)]).toEqual([text, [serial]])
    }
    await api.services.pool.query('UPDATE organization SET name = $2 WHERE id = $1', [mine.id, 'Ο\u0301μιλος ΦΟΡΤΗΓΟΣ'])
    expect(await found('\u038cμιλοσ φορτηγος')).toHaveLength(names.length)
  })

  test('the page and the command line find the same letters as a search of the service', async () => {
    const blocks = [
      [0x20, 0x58f],
      [0x1e00, 0x1fff],
      [0xff21, 0xff5a],
    ] as const
    const letters = blocks.flatMap(([from, to]) =>
      Array.from({ length: to - from + 1 }, (_, index) => String.fromCodePoint(from + index)),
    )
    const { rows } = await api.services.pool.query<{ letter: string; here: string }>(
      'SELECT letter, text_folded(letter) AS here FROM unnest($1::text[]) AS letter',
      [letters],
    )
    const groups = (keyOf: (row: { letter: string; here: string }) => string) =>
      [...Map.groupBy(rows, keyOf).values()].map((equal) => equal.map(({ letter }) => letter).join(' '))
    expect(groups(({ letter }) => folded(letter))).toEqual(groups(({ here }) => here))
  })

  test('200 returns pages without repeated or skipped items while devices are created', async () => {
    const organization = await api.newOrganization()
    const before = []
    for (let n = 0; n < 25; n += 1) before.push((await create(organization, `P-${n}`)).id)
    const seen: string[] = []
    let next: string | null = '/devices?limit=7'
    let more = 0
    while (next !== null) {
      const answer = await api.call('GET', next, { token: organization.key })
      seen.push(...answer.body.items.map(({ id }: { id: string }) => id))
      const cursor: string | null = answer.body.nextCursor
      next = cursor === null ? null : `/devices?limit=7&cursor=${cursor}`
      expect(answer.headers.get('link')).toBe(
        cursor === null ? null : `</devices?limit=7&cursor=${cursor}>; rel="next"`,
      )
      await create(organization, `Q-${more++}`)
    }
    expect(seen).toEqual(before.reverse())
  })

  test('400 for an altered cursor, or one of other filters or another caller', async () => {
    const organization = await api.newOrganization()
    for (const serial of ['A', 'B', 'C']) await create(organization, serial)
    const { body } = await list(organization, '?limit=1')
    const other = { ...organization, key: await api.newKey([organization.id], 'viewer') }
    expect((await list(organization, `?limit=2&cursor=${body.nextCursor}`)).status).toBe(200)
    for (const answer of [
      await list(organization, `?cursor=${body.nextCursor.slice(0, -1)}`),
      await list(organization, `?status=online&cursor=${body.nextCursor}`),
      await list(other, `?cursor=${body.nextCursor}`),
      await list(organization, '?cursor=AAAA'),
    ]) {
      expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_cursor' } })
    }
  })

  test.each([
    'limit=0',
    'limit=201',
    'limit=ten',
    'status=broken',
    'q=a',
    'colour=red',
    'orgId=mine',
    'orgId=',
    'status=online&status=offline',
  ])('400 for ?%s', async (query) => {
    expect((await list(await api.newOrganization(), `?${query}`)).status).toBe(400)
  })

  test('401 without a token; 403 for a caller without device:read anywhere', async () => {
    const { id } = await api.newOrganization()
    expect((await api.call('GET', '/devices')).status).toBe(401)
    const key = await api.newKey([id], ['org:read'])
    expect((await list({ id, key })).status).toBe(403)
    expect((await list({ id, key }, `?orgId=${id}`)).status).toBe(403)
  })

  test('404 for an organization that the caller cannot read', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    expect((await list(mine, `?orgId=${other.id}`)).status).toBe(404)
    expect((await list({ id: '', key: api.platformKey }, '?orgId=00000000-0000-4000-8000-000000000000')).status).toBe(
      404,
    )
  })

  test('405 with Allow, 404 for an unknown path', async () => {
    const answer = await api.call('PUT', '/devices')
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toContain('GET')
    expect((await api.call('GET', '/devicez')).status).toBe(404)
  })
})
