import { setTimeout as delay } from 'node:timers/promises'
import { attempt } from '../http-attempt.ts'
import type { Target } from '../target.ts'
import type { Tenant } from '../tenant.ts'

/** The longest times from a cause to its notice. */
export type NoticeTimes = { alertMs: number; webhookMs: number }

export type Notices = {
  /** Causes an alert and a webhook, and waits for both. Stops waiting after these times. */
  measure(limits: NoticeTimes): Promise<NoticeTimes>
  /** Samples that the service accepted. */
  acceptedSamples(): number
}

const pollMs = 200
const attemptLimitMs = 30_000

/** An organization with an alert rule and a webhook. Each measurement uses another of its devices. */
export async function watchNotices({ url, receivers }: Target, watcher: Tenant): Promise<Notices> {
  const organization = `${url}/orgs/${watcher.organizationId}`
  const headers = { authorization: `Bearer ${watcher.adminKey}`, 'content-type': 'application/json' }
  let accepted = 0
  let used = 0
  let scanned = 0
  const created = new Map<string, number>()

  /** Repeats a request until it is accepted, like a client does. */
  async function send(method: string, address: string, json?: unknown, token = watcher.adminKey) {
    for (;;) {
      const sent = { ...headers, authorization: `Bearer ${token}` }
      const body = json === undefined ? {} : { body: JSON.stringify(json) }
      const answer = await attempt({ url: address, method, headers: sent, ...body, timeoutMs: attemptLimitMs }).catch(
        () => undefined,
      )
      if (answer && answer.status < 300) return JSON.parse(answer.body)
      if (answer && answer.status < 429) throw new Error(`${method} ${address}: ${answer.status} ${answer.body}`)
      await delay(pollMs)
    }
  }

  await send('POST', `${organization}/webhooks`, { url: receivers?.webhooks.url, events: ['device.created'] })
  const condition = { kind: 'weak_signal', forMinutes: 1, rsrpBelowDbm: -110 }
  await send('POST', `${organization}/alert-rules`, { name: 'Weak', condition })

  /** Waits for a condition and returns how long it took, or the limit. */
  async function timed(isDone: () => Promise<boolean> | boolean, limitMs: number): Promise<number> {
    const startedMs = performance.now()
    while (performance.now() - startedMs < limitMs) {
      if (await isDone()) return performance.now() - startedMs
      await delay(pollMs)
    }
    return limitMs
  }

  async function alertTime(limitMs: number): Promise<number> {
    const device = watcher.devices[used++]
    if (!device) throw new Error('The watcher has no unused device.')
    const samples = [150, 120, 90, 60, 30, 0].map((age) => ({
      kind: 'cellular',
      ts: Date.now() - age * 1_000,
      rat: 'lte',
      rsrpDbm: -120,
    }))
    await send('POST', `${url}/telemetry`, { samples }, device.token)
    accepted += samples.length
    return timed(async () => {
      const { items } = await send('GET', `${organization}/alerts?state=open&deviceId=${device.id}`)
      return items.length > 0
    }, limitMs)
  }

  async function webhookTime(limitMs: number): Promise<number> {
    const json = { organizationId: watcher.organizationId, serial: crypto.randomUUID(), name: 'New', model: 'RX400' }
    const { id } = await send('POST', `${url}/devices`, json)
    return timed(() => {
      const received = receivers?.webhooks.received ?? []
      for (; scanned < received.length; scanned += 1) {
        const { type, data } = received[scanned] ?? {}
        if (type === 'device.created') created.set(String(data?.deviceId), scanned)
      }
      return created.has(id)
    }, limitMs)
  }

  return {
    async measure(limits) {
      const [alertMs, webhookMs] = await Promise.all([alertTime(limits.alertMs), webhookTime(limits.webhookMs)])
      return { alertMs, webhookMs }
    },
    acceptedSamples: () => accepted,
  }
}
