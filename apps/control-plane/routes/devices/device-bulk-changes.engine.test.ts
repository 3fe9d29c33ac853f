import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { scopes } from '#fleet/access/scopes'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { seedDevices } from '#test/seed-devices'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

type Organization = { id: string; key: string }

async function create({ id, key }: Organization, name: string): Promise<string> {
  const json = { organizationId: id, serial: `SN-${name}`, name, model: 'R1', tags: ['truck'] }
  return (await api.call('POST', '/devices', { token: key, json })).body.id
}

async function trucks(organization: Organization, ...names: string[]): Promise<string[]> {
  const ids: string[] = []
  for (const name of names) ids.push(await create(organization, name))
  return ids
}

const change = ({ id, key }: Organization, what: string, json: unknown, token = key) =>
  api.call('POST', `/orgs/${id}/${what}`, { token, json })
const filter = { tag: ['truck'] }

async function statuses({ key }: Organization): Promise<Record<string, string>> {
  const { body } = await api.call('GET', '/devices?sort=name', { token: key })
  return Object.fromEntries(body.items.map(({ name, status }: Record<string, string>) => [name, status]))
}

describe('POST /orgs/:orgId/device-status', () => {
  test('200 disables devices, names them and says why others did not change', async () => {
    const mine = await api.newOrganization()
    const [one = '', two = ''] = await trucks(mine, 'One', 'Two', 'Three')
    await api.call('PATCH', `/devices/${two}`, { token: mine.key, json: { status: 'disabled' } })
    const planned = await change(mine, 'device-status?dryRun=true', { filter, disabled: true })
    const expected = {
      matched: 3,
      changed: 2,
      devices: [
        { deviceId: one, name: 'One' },
        { deviceId: expect.any(String), name: 'Three' },
      ],
      skipped: [{ deviceId: two, name: 'Two', reason: 'unchanged', detail: 'The device is already disabled.' }],
    }
    expect(planned.body).toEqual(expected)
    expect(await statuses(mine)).toEqual({ One: 'provisioning', Three: 'provisioning', Two: 'disabled' })
    expect((await change(mine, 'device-status', { filter, disabled: true })).body).toEqual(expected)
    expect(await statuses(mine)).toEqual({ One: 'disabled', Three: 'disabled', Two: 'disabled' })

    const enabled = await change(mine, 'device-status', { deviceIds: [one], disabled: false })
    expect(enabled.body).toMatchObject({ changed: 1, skipped: [] })
    expect(await statuses(mine)).toMatchObject({ One: 'provisioning', Two: 'disabled' })
  })

  test('400 for more than 1,000 devices, and for two selections', async () => {
    const mine = await api.newOrganization()
    await seedDevices(api.services.pool, mine.id, 1_001, { tags: ['truck'] })
    const many = await change(mine, 'device-status', { filter, disabled: true })
    expect(many.body).toMatchObject({ status: 400, code: 'too_many_devices' })
    expect((await change(mine, 'device-status', { disabled: true })).status).toBe(400)
  })

  test('402, 403 and 404', async () => {
    const mine = await api.newOrganization()
    const [one] = await trucks(mine, 'One')
    const reader = await api.newKey([mine.id], 'viewer')
    expect((await change(mine, 'device-status', { filter, disabled: true }, reader)).status).toBe(403)
    const other = await api.newOrganization()
    expect((await change(other, 'device-status', { deviceIds: [one], disabled: true })).status).toBe(404)
    const suspended = { token: api.platformKey, json: { plan: 'enterprise', status: 'suspended' } }
    await api.call('PUT', `/orgs/${mine.id}/subscription`, suspended)
    expect((await change(mine, 'device-status', { filter, disabled: true })).status).toBe(402)
  })
})

describe('POST /orgs/:orgId/device-transfers', () => {
  test('200 transfers devices, and skips one whose serial is taken', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    await trucks(mine, 'One', 'Two')
    await create(other, 'Two')
    const token = await api.newKey([mine.id, other.id], scopes)
    const json = { filter, toOrgId: other.id, reason: 'Sold' }
    const planned = await change(mine, 'device-transfers?dryRun=true', json, token)
    expect(planned.body).toMatchObject({ matched: 2, changed: 1, devices: [{ name: 'One' }] })
    expect(planned.body.skipped).toMatchObject([{ name: 'Two', reason: 'serial_taken' }])
    expect(Object.keys(await statuses(mine))).toEqual(['One', 'Two'])
    expect((await change(mine, 'device-transfers', json, token)).body).toEqual(planned.body)
    expect(Object.keys(await statuses(mine))).toEqual(['Two'])
    expect(Object.keys(await statuses(other))).toEqual(['One', 'Two'])
  })

  test('403 without the scope in the other organization', async () => {
    const [mine, other] = [await api.newOrganization(), await api.newOrganization()]
    await trucks(mine, 'One')
    const answer = await change(mine, 'device-transfers', { filter, toOrgId: other.id })
    expect(answer.body).toMatchObject({ status: 403, code: 'insufficient_scope' })
  })
})

describe('POST /orgs/:orgId/device-deletions', () => {
  test('200 deletes devices, and nothing in a dry run', async () => {
    const mine = await api.newOrganization()
    const [one] = await trucks(mine, 'One', 'Two')
    const planned = await change(mine, 'device-deletions?dryRun=true', { deviceIds: [one] })
    expect(planned.body).toMatchObject({ matched: 1, changed: 1, devices: [{ name: 'One' }] })
    expect(Object.keys(await statuses(mine))).toEqual(['One', 'Two'])
    expect((await change(mine, 'device-deletions', { deviceIds: [one] })).body.changed).toBe(1)
    expect(Object.keys(await statuses(mine))).toEqual(['Two'])
  })
})
