import { expect } from 'vitest'
import { until } from '#test/until'
import type { Product } from './product.ts'

/** An organization with one router, and a key that can read it. */
export type ReportedVan = {
  organizationId: string
  deviceId: string
  key: string
  /** Resolves once the API returns the samples. */
  report: (samples: readonly Sample[]) => Promise<void>
  /** Reports a position now. */
  reportAt: (position: [lon: number, lat: number]) => Promise<void>
}

type Sample = { kind: string; ts: number; [field: string]: unknown }

/** Reports samples. Resolves once the API returns them, because a page reads a range in the past only once a minute. */
export async function reportStored(
  { url, call, adminKey }: Pick<Product, 'url' | 'call' | 'adminKey'>,
  { deviceId, token }: { deviceId: string; token: string },
  samples: readonly Sample[],
): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/telemetry`, { method: 'POST', headers, body: JSON.stringify({ samples }) })
  expect([answer.status, await answer.json()]).toMatchObject([202, { accepted: samples.length }])
  const times = samples.map(({ ts }) => ts)
  const [from, to] = [Math.min(...times), Math.max(...times) + 1].map((ms) => new Date(ms).toISOString())
  const path = `/api/router/${deviceId}/telemetry/history?from=${from}&to=${to}&limit=10000`
  const nameOf = ({ kind, ts }: { kind: string; ts: number | string }) => `${kind} ${new Date(ts).getTime()}`
  await until('the API returns the samples', async () => {
    const { items } = await call<{ items: { kind: string; ts: string }[] }>('GET', path, undefined, adminKey)
    const found = new Set(items.map(nameOf))
    return samples.every((sample) => found.has(nameOf(sample)))
  })
}

/** Creates an organization with one router. */
export async function registerVan({ url, call, adminKey }: Product, name: string): Promise<ReportedVan> {
  const post = <Answer>(path: string, body: unknown) => call<Answer>('POST', path, body, adminKey)
  const { id: organizationId } = await post<{ id: string }>('/orgs', { name, plan: 'enterprise' })
  const { key } = await post<{ key: string }>(`/orgs/${organizationId}/api-keys`, { name: 'page', role: 'viewer' })
  const { id } = await post<{ id: string }>('/devices', { organizationId, serial: 'VAN-1', name, model: 'RF-310' })
  const { token } = await post<{ token: string }>(`/devices/${id}/token`, {})
  const report = (samples: readonly Sample[]) => reportStored({ url, call, adminKey }, { deviceId: id, token }, samples)
  return {
    ...{ organizationId, deviceId: id, key, report },
    reportAt: ([lon, lat]) => report([{ kind: 'location', ts: Date.now(), lat, lon, fix: '3d', accuracyM: 5 }]),
  }
}
