import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createGpsStreams } from '#fleet-map/streams/gps-streams'
import { type StreamLimits, streamLimits } from '#fleet-map/streams/stream-limits'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { registerDevice } from '#test/registered-device'
import { storeRows } from '#test/telemetry-rows'
import { until } from '#test/until'
import { gpsQuery } from './fleet-query.ts'

let api: TestControlPlane
beforeAll(async () => {
  api = await startControlPlane()
})
afterAll(() => api.close())

type Organization = { id: string; key: string }

/** Opens a stream; `next` reads its next event. */
async function openStream(key: string, query = 'include=devices') {
  const abort = new AbortController()
  const answer = await api.fetch(`/fleet/gps/stream?${query}`, {
    headers: { authorization: `Bearer ${key}` },
    signal: abort.signal,
  })
  // Read without anything between that would read ahead.
  const reader = answer.body?.getReader()
  return {
    answer,
    async next() {
      const { value, done = true } = (await reader?.read()) ?? {}
      if (done) return { event: 'end', id: undefined, data: undefined }
      const text = new TextDecoder().decode(value)
      const [, event, , id, data = 'null'] = /^event: (\w+)\n(id: (\S+)\n)?data: (.*)\n\n$/.exec(text) ?? []
      return { event, id, data: JSON.parse(data) }
    },
    close: () => reader?.cancel(),
  }
}

async function organizationWithDevice() {
  const organization = await api.newOrganization()
  const deviceId = await registerDevice(api.services.pool, organization.id)
  const move = (lat: number) =>
    storeRows(api.questdb, 'location', [
      { tsMs: Date.now(), deviceId, organizationId: organization.id, lat, lon: 10, fix: '3d', usable: true },
    ])
  return { organization, deviceId, move }
}

const revoke = ({ key }: Organization) =>
  api.services.pool.query('UPDATE api_key SET revoked_at = now() WHERE id = $1', [key.split('_')[1]])

describe('GET /fleet/gps/stream', () => {
  test('429 too_many_streams for more than 20 streams of a key, until one is closed', async () => {
    const { organization } = await organizationWithDevice()
    const streams = await Promise.all(Array.from({ length: 20 }, () => openStream(organization.key)))
    const refused = await api.call('GET', '/fleet/gps/stream', { token: organization.key })
    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_streams', limit: 20 } })
    expect(refused.headers.get('retry-after')).toBe('10')
    const other = await organizationWithDevice()
    const bystander = await openStream(other.organization.key)
    expect(bystander.answer.status).toBe(200)
    await streams[0]?.close()
    const next = await openStream(organization.key)
    expect(next.answer.status).toBe(200)
    for (const stream of [...streams, bystander, next]) await stream.close()
    expect(api.services.fleetMaps.streams.size()).toBe(0)
  })

  test('200 reads once for streams with the same query, and again for another query', async () => {
    const { organization, deviceId, move } = await organizationWithDevice()
    const viewer = await api.newKey([organization.id], 'viewer')
    const same = await Promise.all([organization.key, organization.key, viewer].map((key) => openStream(key)))
    const other = await openStream(organization.key, 'include=devices&fields=name')
    for (const stream of [...same, other]) expect(await stream.next()).toMatchObject({ event: 'snapshot' })
    expect(api.services.fleetMaps.streams.questions()).toBe(2)
    await move(10)
    const deltas = await Promise.all(same.map((stream) => stream.next()))
    for (const delta of deltas) expect(delta).toMatchObject({ event: 'delta', data: { devices: [{ deviceId }] } })
    expect(new Set(deltas.map(({ id }) => id)).size).toBe(1)
    for (const stream of [...same, other]) await stream.close()
    expect(api.services.fleetMaps.streams.questions()).toBe(0)
  })

  // These wait for the next looks of their streams, side by side.
  test.concurrent('200 sends one event with all changes to a client that did not read for a while', async () => {
    const { organization, deviceId, move } = await organizationWithDevice()
    const [slow, quick] = [await openStream(organization.key), await openStream(organization.key)]
    for (const stream of [slow, quick]) expect(await stream.next()).toMatchObject({ event: 'snapshot' })
    for (const lat of [11, 12, 13]) {
      await move(lat)
      expect(await quick.next()).toMatchObject({ data: { devices: [{ location: { lat } }] } })
    }
    const missed = await slow.next()
    expect(missed).toMatchObject({ event: 'delta', data: { devices: [{ deviceId, location: { lat: 13 } }] } })
    await slow.close()
    await quick.close()
  })

  test.concurrent('an error event ends the stream of a revoked key within 5 s, but no other stream with the same query', async () => {
    const { organization, move } = await organizationWithDevice()
    const other = { id: organization.id, key: await api.newKey([organization.id], 'viewer') }
    const [revoked, kept] = [await openStream(organization.key), await openStream(other.key)]
    for (const stream of [revoked, kept]) await stream.next()
    await revoke(organization)
    const revokedAtMs = performance.now()
    expect(await revoked.next()).toMatchObject({ event: 'error', data: { code: 'unauthenticated' } })
    expect(performance.now() - revokedAtMs).toBeLessThan(5_000)
    expect(await revoked.next()).toEqual({ event: 'end', id: undefined, data: undefined })
    await move(20)
    expect(await kept.next()).toMatchObject({ event: 'delta' })
    await kept.close()
  })

  test.concurrent('a stream whose key loses an organization sends a new snapshot without it', async () => {
    const [one, two] = [await organizationWithDevice(), await organizationWithDevice()]
    const key = await api.newKey([one.organization.id, two.organization.id], 'viewer')
    const stream = await openStream(key)
    expect((await stream.next()).data.devices).toHaveLength(2)
    await api.services.pool.query('DELETE FROM api_key_grant WHERE api_key_id = $1 AND organization_id = $2', [
      key.split('_')[1],
      two.organization.id,
    ])
    await until('the key is looked up again', async () => {
      const { status } = await api.call('GET', `/fleet/gps?orgId=${two.organization.id}`, { token: key })
      return status === 404
    })
    const { event, data } = await stream.next()
    expect(event).toBe('snapshot')
    expect(data.devices.map(({ deviceId }: { deviceId: string }) => deviceId)).toEqual([one.deviceId])
    await stream.close()
  })

  test('HEAD opens no stream', async () => {
    const { organization } = await organizationWithDevice()
    for (let call = 0; call < 25; call++) {
      const answer = await api.fetch('/fleet/gps/stream', {
        method: 'HEAD',
        headers: { authorization: `Bearer ${organization.key}` },
      })
      expect(answer.status).toBe(200)
    }
    expect(api.services.fleetMaps.streams.size()).toBe(0)
  })
})

test.concurrent('a stream that is answered less often ends within 5 s as well when its key is revoked', async () => {
  const { organization } = await organizationWithDevice()
  const { fleetMaps: fleet, readers, pool, plans, keyring, clock, authenticator } = api.services
  const streams = createGpsStreams({ fleet, readers })
  const stillAllowed = () => authenticator.authenticate(`Bearer ${organization.key}`)
  // Each answer seems to take seconds, so that the next one is due after the longest pause.
  let passedMs = 0
  const slowClock = () => {
    passedMs += 1_000
    return clock() + passedMs
  }
  const ctx = { pool, plans, keyring, clock: slowClock, principal: await stillAllowed(), requestId: 'test' }
  const query = gpsQuery.parse({ include: 'devices' })
  const reader = streams.open({ ctx, query, stillAllowed, disconnect: () => false }).getReader()
  const next = async () => new TextDecoder().decode((await reader.read()).value)
  expect(await next()).toContain('event: snapshot')
  let event = next()
  // The first pause begins after the answer that follows the snapshot.
  await Promise.race([event, until('the long pause', async () => passedMs > 12_000, 20_000)])
  await revoke(organization)
  const revokedAtMs = performance.now()
  while (!(await event).includes('event: error')) event = next()
  expect(performance.now() - revokedAtMs).toBeLessThan(5_000)
})

describe('streams whose clients stop reading', () => {
  const open = async (limits: Partial<StreamLimits>, count: number) => {
    const { organization } = await organizationWithDevice()
    const { fleetMaps: fleet, readers, pool, plans, keyring, clock, authenticator } = api.services
    const streams = createGpsStreams({ fleet, readers, limits: { ...streamLimits, ...limits } })
    const stillAllowed = () => authenticator.authenticate(`Bearer ${organization.key}`)
    const ctx = { pool, plans, keyring, clock, principal: await stillAllowed(), requestId: 'test' }
    const query = gpsQuery.parse({ include: 'devices' })
    const opened = Array.from({ length: count }, () =>
      streams.open({ ctx, query, stillAllowed, disconnect: () => false }).getReader(),
    )
    return { streams, opened }
  }

  test.concurrent('are closed after a while', async () => {
    const { streams, opened } = await open({ stalledMs: 1_000 }, 2)
    const [reading, stalled] = opened
    await Promise.all([reading?.read(), stalled?.read()])
    const next = reading?.read()
    await until('one is closed', async () => streams.size() === 1, 20_000)
    await expect(stalled?.read()).rejects.toThrow('The stream was closed.')
    await reading?.cancel()
    await next
    expect(streams.size()).toBe(0)
  })

  test.concurrent('are closed earlier while too many bytes wait in total', async () => {
    const [one, two] = await Promise.all([
      open({ maxWaitingBytes: 500, slowMs: 1_000 }, 3),
      open({ maxWaitingBytes: 1_000_000, slowMs: 1_000 }, 3),
    ])
    await Promise.all([...one.opened, ...two.opened].map((reader) => reader.read()))
    // A snapshot is about a kilobyte; nobody reads another event.
    await until('slow ones are closed', async () => one.streams.size() === 0, 20_000)
    expect(two.streams.size()).toBe(3)
    for (const reader of [...one.opened, ...two.opened]) await reader.cancel().catch(() => {})
  })
})
