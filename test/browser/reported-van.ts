import { expect } from 'vitest'
import type { Product } from './product.ts'

/** An organization with one router, and a key that can read it. */
export type ReportedVan = {
  organizationId: string
  deviceId: string
  key: string
  report: (samples: readonly object[]) => Promise<void>
  /** Reports a position now. */
  reportAt: (position: [lon: number, lat: number]) => Promise<void>
}

/** Creates an organization with one router. */
export async function registerVan({ url, call, adminKey }: Product, name: string): Promise<ReportedVan> {
  const post = <Answer>(path: string, body: unknown) => call<Answer>('POST', path, body, adminKey)
  const { id: organizationId } = await post<{ id: string }>('/orgs', { name, plan: 'enterprise' })
  const { key } = await post<{ key: string }>(`/orgs/${organizationId}/api-keys`, { name: 'page', role: 'viewer' })
  const { id } = await post<{ id: string }>('/devices', { organizationId, serial: 'VAN-1', name, model: 'RF-310' })
  const { token } = await post<{ token: string }>(`/devices/${id}/token`, {})
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const report = async (samples: readonly object[]) => {
    const answer = await fetch(`${url}/telemetry`, { method: 'POST', headers, body: JSON.stringify({ samples }) })
    expect([answer.status, await answer.json()]).toMatchObject([202, { accepted: samples.length }])
  }
  return {
    ...{ organizationId, deviceId: id, key, report },
    reportAt: ([lon, lat]) => report([{ kind: 'location', ts: Date.now(), lat, lon, fix: '3d', accuracyM: 5 }]),
  }
}
