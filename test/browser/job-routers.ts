import { expect } from 'vitest'
import type { Product } from './product.ts'

type HandedOut = { id: string; kind: string; attempt: number; parameters: Record<string, unknown> }

/** An organization with routers that the test drives through the device edge. */
export type JobRouters = {
  organizationId: string
  /** A key with the role of an administrator in the organization. */
  key: string
  groupName: string
  /** Each router polls once for a job, and reports this end if it gets one. Returns how many got one. */
  runJobs: (status: 'succeeded' | 'failed', detail: string) => Promise<number>
  /** The first router reports its signal. */
  reportSignal: (rsrpDbm: number) => Promise<void>
}

/** Creates an organization with a group of `count` routers of the model RX-500, and one of another model. */
export async function createJobRouters({ url, call, adminKey }: Product, count: number): Promise<JobRouters> {
  const post = <Answer>(path: string, body: unknown) => call<Answer>('POST', path, body, adminKey)
  const { id: organizationId } = await post<{ id: string }>('/orgs', { name: 'Harbour ferries', plan: 'enterprise' })
  const { key } = await post<{ key: string }>(`/orgs/${organizationId}/api-keys`, { name: 'Anna', role: 'admin' })
  const models = [...Array.from({ length: count }, () => 'RX-500'), 'RX-100']
  const tokens: string[] = []
  for (const [index, model] of models.entries()) {
    const device = { organizationId, serial: `FERRY-${index}`, name: `Ferry ${index + 1}`, model, tags: ['ferry'] }
    const { id } = await post<{ id: string }>('/devices', device)
    tokens.push((await post<{ token: string }>(`/devices/${id}/token`, {})).token)
  }
  const groupName = 'Ferries'
  await post(`/orgs/${organizationId}/groups`, { name: groupName, smartTags: ['ferry'] })

  const run = async (token: string, status: string, detail: string): Promise<boolean> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const next = await fetch(`${url}/device/jobs/next?waitSeconds=0`, { headers })
    if (next.status === 204) return false
    expect(next.status).toBe(200)
    const { id, attempt } = (await next.json()) as HandedOut
    const body = JSON.stringify({ attempt, status, detail })
    const answer = await fetch(`${url}/device/jobs/${id}/status`, { method: 'POST', headers, body })
    expect(answer.status).toBe(200)
    return true
  }
  return {
    organizationId,
    key,
    groupName,
    async reportSignal(rsrpDbm) {
      const headers = { authorization: `Bearer ${tokens[0]}`, 'content-type': 'application/json' }
      const body = JSON.stringify({ samples: [{ kind: 'cellular', rat: 'lte', rsrpDbm }] })
      expect((await fetch(`${url}/telemetry`, { method: 'POST', headers, body })).status).toBe(202)
    },
    async runJobs(status, detail) {
      const ran = await Promise.all(tokens.map((token) => run(token, status, detail)))
      return ran.filter(Boolean).length
    },
  }
}
