import { parse } from 'csv-parse/sync'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes } from '#fleet/access/scopes'
import { type Answer, startControlPlane, type TestControlPlane } from '#test/control-plane'
import { type StoredRow, storeRows } from '#test/telemetry-rows'

const minuteMs = 60_000

let api: TestControlPlane
let mine: Organization
beforeAll(async () => {
  api = await startControlPlane()
  mine = await fleet()
})
afterAll(() => api.close())

type Organization = { id: string; key: string }

const signals = {
  Strong: { rat: 'lte', rsrpDbm: -80, sinrDb: 20, plmn: '26201', operatorName: 'Telekom' },
  Weak: { rat: 'lte', rsrpDbm: -112, sinrDb: 0, plmn: '26202', operatorName: 'Vodafone' },
  Weaker: { rat: 'lte', rsrpDbm: -114, sinrDb: 0, plmn: '26201', operatorName: 'Telekom' },
  Lost: { rat: 'none' },
  Dual: { rat: 'lte', rsrpDbm: -100, modem: 'wwan0' },
  Old: { rat: 'lte', rsrpDbm: -90, ageMs: 26 * 60 * minuteMs },
}

/** Devices with a signal, and `Silent`, which never reported. They are 1 degree apart along a parallel, from 20° on. */
async function fleet(): Promise<Organization> {
  const organization = await api.newOrganization()
  const rows: StoredRow[] = []
  for (const [index, name] of [...Object.keys(signals), 'Silent'].entries()) {
    const tags = index % 2 === 0 ? ['truck'] : []
    const json = { organizationId: organization.id, serial: `SN-${name}`, name, model: 'R1', tags }
    const created = await api.call('POST', '/devices', { token: organization.key, json })
    const { ageMs = minuteMs, ...signal } = { ...(signals as Record<string, { ageMs?: number }>)[name] }
    await api.services.pool.query(
      'UPDATE device SET last_lat = 52, last_lon = $2, last_fix_at = now(), last_seen_at = $3, firmware = $4 WHERE id = $1',
      [created.body.id, 20 + index, name === 'Silent' ? null : new Date(Date.now() - ageMs), `1.${index % 2}`],
    )
    if (name === 'Silent') continue
    const stored = { tsMs: Date.now() - ageMs, deviceId: created.body.id, organizationId: organization.id }
    rows.push({ ...stored, ...signal })
    if (name === 'Dual') rows.push({ ...stored, rat: 'none', modem: 'wwan1' })
  }
  await storeRows(api.questdb, 'cellular', rows)
  return organization
}

const list = (query: string, token = mine.key) => api.call('GET', `/devices?${query}`, { token })
const names = ({ status, body }: Answer) => {
  expect(status).toBe(200)
  return body.items.map(({ name }: { name: string }) => name)
}

describe('GET /devices', () => {
  test('200 filters by class of the signal, operator, radio technology and modems', async () => {
    expect(names(await list('signal=poor'))).toEqual(['Weaker', 'Weak'])
    expect(names(await list('signal=none&signal=poor'))).toEqual(['Lost', 'Weaker', 'Weak'])
    expect(names(await list('signal=unknown'))).toEqual(['Silent', 'Old'])
    expect(names(await list('plmn=26201'))).toEqual(['Weaker', 'Strong'])
    expect(names(await list('rat=none'))).toEqual(['Lost'])
    expect(names(await list('modems=withoutService'))).toEqual(['Dual', 'Lost'])
    expect(names(await list('modems=several'))).toEqual(['Dual'])
  })

  test('200 joins what the map knows with what the registry knows', async () => {
    expect(names(await list('signal=poor&tag=truck'))).toEqual(['Weaker'])
    expect(names(await list('signal=poor&bbox=20.5,51,21.5,53'))).toEqual(['Weak'])
    expect(names(await list('signal=poor&sort=name'))).toEqual(['Weak', 'Weaker'])
    expect(names(await list('signal=poor&q=SN-Weaker'))).toEqual(['Weaker'])
    expect(names(await list('signal=poor&tag=unknown'))).toEqual([])
  })

  test('200 sorts by signal, operator and modems in pages, with devices without a value last', async () => {
    const paged = async (sort: string) => {
      const found: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const answer = await list(`sort=${sort}&limit=2${cursor && `&cursor=${cursor}`}`)
        found.push(...names(answer))
        cursor = answer.body.nextCursor
      }
      return found
    }
    expect(await paged('signal')).toEqual(['Lost', 'Weaker', 'Weak', 'Dual', 'Strong', 'Old', 'Silent'])
    expect(await paged('-signal')).toEqual(['Strong', 'Dual', 'Weak', 'Weaker', 'Lost', 'Silent', 'Old'])
    expect((await paged('operator')).slice(0, 3)).toEqual(['Strong', 'Weaker', 'Weak'])
    expect((await paged('-modems')).slice(0, 2)).toEqual(['Dual', 'Lost'])
  })

  test('200 finds a device at −180 and one at 180 in a box that reaches either', async () => {
    const organization = await api.newOrganization()
    for (const lon of [-180, 180, 179, -179, 0]) {
      const json = { organizationId: organization.id, serial: `${lon}`, name: `${lon}`, model: 'R1' }
      const created = await api.call('POST', '/devices', { token: organization.key, json })
      await api.services.pool.query(
        'UPDATE device SET last_lat = -17, last_lon = $2, last_fix_at = now() WHERE id = $1',
        [created.body.id, lon],
      )
    }
    const found = async (bbox: string) => names(await list(`bbox=${bbox}`, organization.key)).reverse()
    expect(await found('179.5,-18,180,-16')).toEqual(['-180', '180'])
    expect(await found('-180,-18,-179.5,-16')).toEqual(['-180', '180'])
    expect(await found('178,-18,-179.5,-16')).toEqual(['-180', '180', '179'])
    expect(await found('-179.5,-18,179.5,-16')).toEqual(['179', '-179', '0'])
    const json = { filter: { bbox: [180, -18, -180, -16] }, add: ['meridian'] }
    const changed = await api.call('POST', `/orgs/${organization.id}/device-tags`, { token: organization.key, json })
    expect(changed.body).toMatchObject({ matched: 2, changed: 2 })
  })

  test('200 filters by box, firmware, group and time of the last report', async () => {
    expect(names(await list('bbox=21.5,51,23.5,53'))).toEqual(['Lost', 'Weaker'])
    expect(names(await list('bbox=24.5,51,20.5,53'))).toEqual(['Silent', 'Old', 'Strong'])
    expect(names(await list('firmware=1.1'))).toEqual(['Old', 'Lost', 'Weak'])
    expect(names(await list('seenWithinMinutes=10'))).toEqual(['Dual', 'Lost', 'Weaker', 'Weak', 'Strong'])
    expect(names(await list('silentForMinutes=10'))).toEqual(['Old'])
    const json = { name: 'Trucks', smartTags: ['truck'] }
    const group = await api.call('POST', `/orgs/${mine.id}/groups`, { token: mine.key, json })
    expect(names(await list(`groupId=${group.body.id}`))).toEqual(['Silent', 'Dual', 'Weaker', 'Strong'])
    expect(names(await list(`groupId=${group.body.id}&signal=poor`))).toEqual(['Weaker'])
    expect((await list(`groupId=${mine.id}`)).status).toBe(404)
  })

  test('200 adds the signal, the modems and the nearest town on request', async () => {
    const { body } = await list('include=signal,near&q=SN-Weak&sort=name')
    expect(body.items[0]).toMatchObject({
      name: 'Weak',
      signal: { quality: 'poor', rsrpDbm: -112, plmn: '26202', operatorName: 'Vodafone', rat: 'lte' },
      modems: { count: 1, withoutService: 0 },
      near: { country: 'PL' },
    })
    const [plain] = (await list('q=SN-Weak&sort=name')).body.items
    expect(plain).not.toHaveProperty('signal')
    expect(plain).not.toHaveProperty('near')
    const [silent] = (await list('include=signal&q=Silent')).body.items
    expect(silent).toMatchObject({ signal: null, modems: { count: 0, withoutService: 0 } })
  })

  test('200 counts the devices that match', async () => {
    const counts = (query: string) => api.call('GET', `/orgs/${mine.id}/device-counts?${query}`, { token: mine.key })
    expect((await counts('signal=poor')).body.total).toBe(2)
    expect((await counts('signal=poor&bbox=20.5,51,21.5,53')).body.total).toBe(1)
  })

  test('400 for words and boxes that do not exist', async () => {
    for (const query of ['signal=bad', 'bbox=1,2,3', 'bbox=0,91,1,92', 'include=weather', 'modems=1'])
      expect((await list(query)).status, query).toBe(400)
  })

  test('403 without fleet:read, or without the fleet map in the plan', async () => {
    const asking = ['signal=poor', 'plmn=26201', 'modems=several', 'sort=signal', 'include=signal', 'bbox=0,0,1,1']
    const held = scopes.filter((scope) => scope !== 'fleet:read')
    const token = await api.newKey([mine.id], held)
    for (const query of asking)
      for (const org of ['', `&orgId=${mine.id}`]) {
        const answer = await list(`${query}${org}`, token)
        expect(answer.body, query).toMatchObject({ status: 403, code: 'insufficient_scope' })
      }
    expect(names(await list('include=near&sort=name&limit=1', token))).toEqual(['Dual'])
    const free = await api.newOrganization({ plan: 'free' })
    expect((await list('signal=poor', free.key)).body).toMatchObject({ status: 403, code: 'plan_feature' })
    const groupless = await api.newKey(
      [mine.id],
      scopes.filter((scope) => scope !== 'group:read'),
    )
    const group = await api.call('POST', `/orgs/${mine.id}/groups`, { token: mine.key, json: { name: 'One' } })
    expect((await list(`groupId=${group.body.id}`, groupless)).body.code).toBe('insufficient_scope')
  })

  test('a list of several organizations has live devices only of those whose map the caller can read', async () => {
    const other = await fleet()
    const token = await api.newKey([mine.id], 'viewer')
    const { rows } = await api.services.pool.query('SELECT id FROM api_key ORDER BY created_at DESC LIMIT 1')
    await api.services.pool.query(
      'INSERT INTO api_key_grant (api_key_id, organization_id, scopes) VALUES ($1, $2, $3)',
      [rows[0]?.id, other.id, ['device:read']],
    )
    expect(names(await list('signal=none', token))).toEqual(['Lost'])
    expect(names(await list('bbox=21.5,51,22.5,53', token))).toEqual(['Weaker'])
    expect((await list(`signal=none&orgId=${other.id}`, token)).status).toBe(403)
  })
})

describe('GET /devices/export', () => {
  const rowsOf = async (query: string): Promise<Record<string, string>[]> => {
    const answer = await api.call('GET', `/devices/export?${query}`, { token: mine.key })
    expect(answer.status).toBe(200)
    return parse(answer.body, { columns: true })
  }

  test('200 has the rows, the order and the columns of the list', async () => {
    const rows = await rowsOf('signal=poor&signal=none&sort=signal&include=signal,near&bbox=20,51,24,53')
    expect(rows).toMatchObject([
      { name: 'Lost', signalQuality: 'none', rsrpDbm: '', modems: '1', modemsWithoutService: '1' },
      { name: 'Weaker', signalQuality: 'poor', rsrpDbm: '-114', operator: 'Telekom', plmn: '26201' },
      { name: 'Weak', signalQuality: 'poor', rsrpDbm: '-112', nearCountry: 'PL' },
    ])
    expect(await rowsOf('modems=several&include=signal')).toMatchObject([{ name: 'Dual', modem: 'wwan0', modems: '2' }])
    expect(Object.keys((await rowsOf('q=Weaker'))[0] ?? {})).not.toContain('rsrpDbm')
  })
})

describe('bulk requests', () => {
  test('change the devices that the live map finds', async () => {
    const organization = await fleet()
    const json = { filter: { signal: ['poor'], bbox: [20.5, 51, 25, 53] }, add: ['check-antenna'] }
    const path = `/orgs/${organization.id}/device-tags`
    const { body } = await api.call('POST', path, { token: organization.key, json })
    expect(body).toEqual({ matched: 2, changed: 2, refused: 0 })
    expect(names(await list('tag=check-antenna', organization.key))).toEqual(['Weaker', 'Weak'])

    const job = { kind: 'reboot', filter: { modems: 'withoutService' } }
    const batch = await api.call('POST', `/orgs/${organization.id}/job-batches`, { token: organization.key, json: job })
    expect(batch.body).toMatchObject({ total: 2, target: { filter: { modems: 'withoutService' } } })
  })
})
