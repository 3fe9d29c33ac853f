import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { AttackerClient } from '../attacker-client.ts'
import type { Target } from '../target.ts'
import { createTenant, type Tenant } from '../tenant.ts'

/** Two organizations of one customer, between which it moves devices. */
export type Neighbours = { first: Tenant; second: Tenant }

export type LoadSize = {
  imports: number
  rowsPerImport: number
  rules: number
  webhooks: number
}

/** Creates the organizations, with a quota for all imports. */
export async function createNeighbours({ url, adminKey }: Target, devices: number): Promise<Neighbours> {
  const [first, second] = [
    await createTenant(url, adminKey, 'Neighbour', devices),
    await createTenant(url, adminKey, 'Branch', 0),
  ]
  for (const { organizationId } of [first, second]) {
    const answer = await fetch(`${url}/orgs/${organizationId}/subscription`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ plan: 'enterprise', status: 'active', deviceQuota: 2_000_000 }),
    })
    if (!answer.ok) throw new Error(`The quota was not set: ${answer.status} ${await answer.text()}`)
  }
  return { first, second }
}

/** Sends everything that an organization may rightly send, as fast as it is answered, until `signal` aborts. */
export async function sendLoad(
  { url, adminKey, receivers }: Target,
  { first, second }: Neighbours,
  size: LoadSize,
  { client, signal }: { client: AttackerClient; signal: AbortSignal },
): Promise<void> {
  const { organizationId } = first
  const organization = `${url}/orgs/${organizationId}`
  const call = async (method: string, address: string, json?: unknown, key = first.adminKey) => {
    const headers = { authorization: `Bearer ${key}`, 'idempotency-key': randomUUID() }
    const answer = await client.call({ url: address, method, headers, json })
    // What is refused for its rate comes again soon, like that of an impatient script.
    if (answer?.status === 429) await delay(200, undefined, { signal }).catch(() => {})
    return answer
  }
  const untilEnd = async (work: (turn: number) => Promise<unknown>) => {
    for (let turn = 0; !signal.aborted; turn += 1) await work(turn)
  }

  const importRows = (number: number) =>
    untilEnd(async (turn) => {
      const rows = Array.from({ length: size.rowsPerImport }, (_, row) =>
        JSON.stringify({ serial: `${number}-${turn}-${row}`, name: `Van ${row}`, model: 'RX400', tags: ['van'] }),
      )
      await client.call({
        url: `${url}/devices/import?orgId=${organizationId}`,
        method: 'POST',
        headers: {
          authorization: `Bearer ${first.adminKey}`,
          'content-type': 'application/x-ndjson',
          'idempotency-key': `${number}-${turn}`,
        },
        body: rows.join('\n'),
      })
    })

  const changeAllTags = () =>
    untilEnd((turn) => call('POST', `${organization}/device-tags`, { filter: {}, add: [`t${turn % 40}`] }))

  const sendGroupJobs = async () => {
    const group = await call('POST', `${organization}/groups`, { name: 'Vans', smartTags: ['van'] })
    const { id } = JSON.parse(group?.body ?? '{}')
    await untilEnd(async () => {
      const batch = await call('POST', `${organization}/groups/${id}/jobs`, { kind: 'speed_test' })
      if (batch?.status !== 202) return
      await call('POST', `${organization}/job-batches/${JSON.parse(batch.body).id}/cancel`)
    })
  }

  // A transfer ends the token of a device, so that these devices do not report.
  const moving = first.devices.slice(0, first.devices.length / 2)
  const reporting = first.devices.slice(moving.length)

  /** Moves devices to the other organization and back. A platform key may. */
  const transfer = () =>
    untilEnd(async (turn) => {
      const device = moving[turn % moving.length]
      const there = turn % (2 * moving.length) < moving.length
      const toOrgId = there ? second.organizationId : organizationId
      await call('POST', `${url}/devices/${device?.id}/transfer`, { toOrgId }, adminKey)
    })

  const enroll = async () => {
    const key = await call('POST', `${organization}/enrollment-keys`, { name: 'Vans', autoCreate: true })
    const { key: enrollmentKey } = JSON.parse(key?.body ?? '{}')
    await untilEnd(() =>
      client.call({
        url: `${url}/device/enroll`,
        method: 'POST',
        json: { enrollmentKey, serial: randomUUID(), model: 'RX400' },
      }),
    )
  }

  // With pauses, so that reads do not use up the rate of the writes.
  const readLists = () =>
    untilEnd(async (turn) => {
      await call('GET', `${url}/devices?orgId=${organizationId}&limit=200&q=van%20${turn % 10}`)
      await delay(50, undefined, { signal }).catch(() => {})
    })

  const subscribe = async () => {
    const events = ['device.created', 'device.deleted', 'device.status_changed', 'alert.opened', 'alert.closed']
    for (let index = 0; index < size.webhooks && !signal.aborted; index += 1) {
      await call('POST', `${organization}/webhooks`, { url: receivers?.webhooks.url, events })
    }
  }

  const makeRules = async () => {
    for (let index = 0; index < size.rules && !signal.aborted; index += 1) {
      const condition = { kind: 'weak_signal', forMinutes: 1 + (index % 60), rsrpBelowDbm: -90 - (index % 40) }
      await call('POST', `${organization}/alert-rules`, {
        name: `Weak ${index}`,
        condition,
        channels: { webhook: true, emails: [`on-call-${index % 10}@neighbour.test`] },
      })
    }
  }

  /** Signals that open and close alerts of all rules. */
  const report = () =>
    untilEnd(async (turn) => {
      const device = reporting[turn % reporting.length]
      const samples = Array.from({ length: 100 }, (_, index) => ({
        kind: 'cellular',
        ts: Date.now() - index * 1_000,
        rat: 'lte',
        rsrpDbm: turn % 2 === 0 ? -125 : -70,
      }))
      await client.call({
        url: `${url}/telemetry`,
        method: 'POST',
        headers: { authorization: `Bearer ${device?.token}` },
        json: { samples },
      })
    })

  await Promise.all([
    subscribe().then(() => Promise.all(Array.from({ length: size.imports }, (_, number) => importRows(number)))),
    makeRules(),
    changeAllTags(),
    sendGroupJobs(),
    transfer(),
    enroll(),
    enroll(),
    readLists(),
    readLists(),
    report(),
  ])
}
