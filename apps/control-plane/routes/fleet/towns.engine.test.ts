import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'

let api: TestControlPlane
let key: string
beforeAll(async () => {
  api = await startControlPlane()
  key = (await api.newOrganization()).key
})
afterAll(() => api.close())

const nearest = (query: string, token?: string) =>
  api.call('GET', `/towns/nearest?${query}`, token === undefined ? {} : { token })

describe('GET /towns/nearest', () => {
  test('200 names the town, how far it is, and in which direction the position lies', async () => {
    const { status, body } = await nearest('lat=52.05&lon=6.05', key)
    expect(status).toBe(200)
    expect(body).toEqual({
      near: { name: expect.any(String), country: 'NL', distanceKm: expect.any(Number), bearing: expect.any(Number) },
    })
    expect(body.near.distanceKm).toBeLessThan(10)
  })

  test('200 at both sides of the antimeridian', async () => {
    const [west, east] = await Promise.all([
      nearest('lat=-16.8&lon=179.99', key),
      nearest('lat=-16.8&lon=-179.99', key),
    ])
    expect(west.body.near.name).toBe(east.body.near.name)
  })

  test.each(['', 'lat=52', 'lat=91&lon=6', 'lat=52&lon=181', 'lat=north&lon=6', 'lat=52&lon=6&zoom=3'])(
    '400 for %s',
    async (query) => {
      expect((await nearest(query, key)).status).toBe(400)
    },
  )

  test('401 without a key', async () => {
    expect((await nearest('lat=52&lon=6')).status).toBe(401)
  })
})
