import { once } from 'node:events'
import { get, type IncomingMessage, type ServerResponse } from 'node:http'
import { parquetMetadata } from 'hyparquet'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { HttpServer } from '#http/listeners'
import { startServer } from '#http/server'
import { startControlPlane, type TestControlPlane } from '#test/control-plane'
import { deleteDevice, registerDevice, transferDevice } from '#test/registered-device'
import { seedDevices } from '#test/seed-devices'
import { applied } from '#test/telemetry-rows'
import { createApp } from '../../http/app.ts'
import { routes } from '../../routes.ts'

let api: TestControlPlane
let server: HttpServer
/** The last response that the server has begun. */
let outgoing: ServerResponse
beforeAll(async () => {
  api = await startControlPlane()
  const { fetch } = createApp(routes, api.services)
  const serve = (request: Request, environment: { outgoing: ServerResponse }) => {
    outgoing = environment.outgoing
    return fetch(request, environment)
  }
  server = await startServer(serve, { host: '127.0.0.1', port: 0 })
})
afterAll(async () => {
  server.closeAllConnections()
  server.close()
  await api.close()
})

type Organization = { id: string; key: string }

const revoke = ({ key }: Organization) =>
  api.services.pool.query('UPDATE api_key SET revoked_at = now() WHERE id = $1', [key.split('_')[1]])

/** Begins a download over a socket, and stops reading after its first bytes. */
async function beginDownload(path: string, key: string, coding = 'identity'): Promise<IncomingMessage> {
  const { port } = server.address()
  const headers = { authorization: `Bearer ${key}`, 'accept-encoding': coding }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ host: '127.0.0.1', port, path, headers }, resolve).on('error', reject)
  })
  expect(answer.statusCode).toBe(200)
  await new Promise((resolve) => answer.once('data', resolve))
  answer.pause()
  return answer
}

const download = (path: string, key: string) =>
  fetch(`http://127.0.0.1:${server.address().port}${path}`, { headers: { authorization: `Bearer ${key}` } })

/** Reads the rest: its text, and whether it came to its regular end. */
async function finish(answer: IncomingMessage): Promise<{ isWhole: boolean; text: string }> {
  let text = ''
  const closed = new Promise<void>((resolve) => answer.once('close', resolve))
  answer.on('error', () => {})
  answer.on('data', (chunk) => {
    text += String(chunk)
  })
  answer.resume()
  await closed
  return { isWhole: answer.complete, text }
}

/** A device with so much history that it does not fit into the buffers of a socket. */
async function deviceWithHistory(rows = 60_000) {
  const organization = await api.newOrganization()
  const deviceId = await registerDevice(api.services.pool, organization.id)
  await api.questdb.query(
    `INSERT INTO system (ts, device_id, org_id, received_at, cpu_pct, fault)
     SELECT dateadd('s', -x::int, now()), '${deviceId}', '${organization.id}', now(), 5, '=1+1'
     FROM long_sequence(${rows})`,
  )
  await applied(api.questdb, 'system')
  const path = `/api/router/${deviceId}/telemetry/history?sinceMinutes=1440&kind=system`
  return { organization, deviceId, path }
}

/** A device whose history is several row groups that do not compress. */
async function deviceWithRandomHistory() {
  const organization = await api.newOrganization()
  const deviceId = await registerDevice(api.services.pool, organization.id)
  await api.questdb.query(
    `INSERT INTO system (ts, device_id, org_id, received_at, fault)
     SELECT dateadd('s', -x::int, now()), '${deviceId}', '${organization.id}', now(), rnd_str(500, 500, 0)
     FROM long_sequence(40000)`,
  )
  await applied(api.questdb, 'system')
  const path = `/api/router/${deviceId}/telemetry/history?sinceMinutes=1440&kind=system&format=parquet`
  return { organization, path }
}

describe('a history as Parquet', { timeout: 120_000 }, () => {
  let organization: Organization
  let path: string
  beforeAll(async () => {
    const made = await deviceWithRandomHistory()
    organization = made.organization
    path = made.path
  })

  test('breaks off when its key is revoked, and is not a valid file', async () => {
    const key = await api.newKey([organization.id], 'viewer')
    const begun = await beginDownload(path, key)
    await revoke({ ...organization, key })
    const { isWhole, text } = await finish(begun)
    expect([isWhole, text.endsWith('PAR1')]).toEqual([false, false])
  })

  test('breaks off when the database fails, and is not a valid file', async () => {
    const { queryArrays } = api.questdb
    const begun = await beginDownload(path, organization.key)
    api.questdb.queryArrays = () => Promise.reject(new Error('The disk failed.'))
    const { isWhole, text } = await finish(begun).finally(() => {
      api.questdb.queryArrays = queryArrays
    })
    expect([isWhole, text.endsWith('PAR1')]).toEqual([false, false])
  })

  test('is read from the database at the speed of its client, and no further when the client has gone', async () => {
    const { queryArrays } = api.questdb
    let pages = 0
    api.questdb.queryArrays = (...query) => {
      pages++
      return queryArrays(...query)
    }
    const pagesOfAll = 20
    const readAll = async () => (await download(path, organization.key)).arrayBuffer()
    try {
      const paused = await beginDownload(path, organization.key)
      const closed = once(outgoing, 'close')
      await readAll()
      expect(pages).toBeLessThan(1.8 * pagesOfAll)
      paused.destroy()
      await closed
      pages = 0
      const { row_groups, num_rows } = parquetMetadata(await readAll())
      expect([row_groups.length > 2, Number(num_rows)]).toEqual([true, 40_000])
      expect(pages).toBeLessThanOrEqual(pagesOfAll + 1)
    } finally {
      api.questdb.queryArrays = queryArrays
    }
  })
})

describe('a history that is being streamed', () => {
  test.each([
    ['ndjson', 'identity'],
    ['csv', 'identity'],
    ['ndjson', 'gzip'],
  ])('%s in %s breaks off when its key is revoked', async (format, coding) => {
    const { organization, path } = await deviceWithHistory(coding === 'gzip' ? 300_000 : 60_000)
    const download = await beginDownload(`${path}&format=${format}`, organization.key, coding)
    await revoke(organization)
    expect((await finish(download)).isWhole).toBe(false)
  })

  test('is aborted when its device is deleted', async () => {
    const { organization, deviceId, path } = await deviceWithHistory()
    const download = await beginDownload(`${path}&format=ndjson`, organization.key)
    await deleteDevice(api.services.pool, deviceId)
    expect((await finish(download)).isWhole).toBe(false)
  })

  test('continues for the previous owner when its device is transferred', async () => {
    const { organization, deviceId, path } = await deviceWithHistory()
    const buyer = await api.newOrganization()
    const download = await beginDownload(`${path}&format=ndjson`, organization.key)
    await transferDevice(api.services.pool, deviceId, buyer.id, Date.now())
    expect((await finish(download)).isWhole).toBe(true)
  })

  test('is aborted within 5 s while its client does not read', async () => {
    const { organization, path } = await deviceWithHistory()
    const download = await beginDownload(`${path}&format=ndjson`, organization.key)
    const closed = once(outgoing, 'close')
    await revoke(organization)
    const revokedAtMs = performance.now()
    await closed
    expect(performance.now() - revokedAtMs).toBeLessThan(5_000)
    expect((await finish(download)).isWhole).toBe(false)
  })

  test('is complete, and safe from formulas as CSV', async () => {
    const { organization, path } = await deviceWithHistory()
    const { isWhole, text } = await finish(await beginDownload(`${path}&format=csv`, organization.key))
    expect(isWhole).toBe(true)
    const lines = text.trimEnd().split('\r\n')
    expect(lines.at(-1)).toContain(",'=1+1")
  })
})

// Tens of thousands of devices take a busy machine a while to make.
describe('an export of devices', { timeout: 120_000 }, () => {
  test('is aborted when its key is revoked', async () => {
    const organization = await api.newOrganization()
    await seedDevices(api.services.pool, organization.id, 40_000)
    const download = await beginDownload('/devices/export?format=ndjson', organization.key)
    await revoke(organization)
    expect((await finish(download)).isWhole).toBe(false)
  })

  test('is aborted when its key loses one of its organizations, and does not skip it', async () => {
    const [one, two] = [await api.newOrganization(), await api.newOrganization()]
    await seedDevices(api.services.pool, one.id, 30_000)
    await seedDevices(api.services.pool, two.id, 10_000)
    const key = await api.newKey([one.id, two.id], 'viewer')
    const download = await beginDownload('/devices/export?format=ndjson', key)
    await api.services.pool.query('DELETE FROM api_key_grant WHERE api_key_id = $1 AND organization_id = $2', [
      key.split('_')[1],
      one.id,
    ])
    expect((await finish(download)).isWhole).toBe(false)
  })

  test('is complete', async () => {
    const organization = await api.newOrganization()
    await seedDevices(api.services.pool, organization.id, 5_000)
    const { isWhole, text } = await finish(await beginDownload('/devices/export?format=csv', organization.key))
    expect(isWhole).toBe(true)
    expect(text.trimEnd().split('\r\n').length).toBeGreaterThan(3_000)
  })
})
