import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

async function newDevice(org: { id: string; key: string }, serial: string): Promise<string> {
  const json = { organizationId: org.id, serial, name: 'Router', model: 'RX' }
  return (await api.call('POST', '/devices', { token: org.key, json })).body.id
}

const imei = '352099001761481'

describe('/devices/:id/identifiers', () => {
  test('200 replaces all identifiers in their stored form', async () => {
    const org = await api.newOrganization()
    const path = `/devices/${await newDevice(org, 'SN-1')}/identifiers`
    expect((await api.call('GET', path, { token: org.key })).body).toEqual({ imei: [], mac: [] })
    const json = { imei: [imei], mac: ['00:1E:42:C0:FF:EE', '001e42c0ffee'] }
    const written = { imei: [imei], mac: ['001e42c0ffee'] }
    expect(await api.call('PUT', path, { token: org.key, json })).toMatchObject({ status: 200, body: written })
    expect(await api.call('PUT', path, { token: org.key, json })).toMatchObject({ status: 200, body: written })
    expect((await api.call('GET', path, { token: org.key })).body).toEqual(written)
    expect((await api.call('PUT', path, { token: org.key, json: {} })).body).toEqual({ imei: [], mac: [] })
  })

  test('400 for what is no IMEI or MAC address', async () => {
    const org = await api.newOrganization()
    const path = `/devices/${await newDevice(org, 'SN-1')}/identifiers`
    for (const json of [
      { imei: ['1'] },
      { imei: ['000000000000000'] },
      { mac: ['00:00:00:00:00:00'] },
      { mac: ['FF-FF-FF-FF-FF-FF'] },
      { mac: ['01:00:5e:00:00:01'] },
      { serial: [] },
    ])
      expect((await api.call('PUT', path, { token: org.key, json })).status).toBe(400)
  })

  test('409 for an identifier of another device, but not of another organization', async () => {
    const [org, other] = [await api.newOrganization(), await api.newOrganization()]
    const [first, second, foreign] = await Promise.all([
      newDevice(org, 'SN-1'),
      newDevice(org, 'SN-2'),
      newDevice(other, 'SN-1'),
    ])
    const put = (id: string, { key: token }: { key: string }) =>
      api.call('PUT', `/devices/${id}/identifiers`, { token, json: { imei: [imei] } })
    expect((await put(first, org)).status).toBe(200)
    expect(await put(second, org)).toMatchObject({ status: 409, body: { code: 'identifier_taken' } })
    expect((await put(foreign, other)).status).toBe(200)
  })

  test('a transfer removes them', async () => {
    const [from, to] = [await api.newOrganization(), await api.newOrganization()]
    const id = await newDevice(from, 'SN-1')
    await api.call('PUT', `/devices/${id}/identifiers`, { token: from.key, json: { imei: [imei] } })
    const token = await api.newKey([from.id, to.id], ['device:transfer', 'device:read'])
    const moved = await api.call('POST', `/devices/${id}/transfer`, { token, json: { toOrgId: to.id } })
    expect(moved.status).toBe(200)
    expect((await api.call('GET', `/devices/${id}/identifiers`, { token })).body).toEqual({ imei: [], mac: [] })
  })
})
