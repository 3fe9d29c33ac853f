import { expect } from 'vitest'
import type { Product } from './product.ts'

/** A road outside the area of the demo fleet, as [longitude, latitude] every 100 m. */
export const road: [lon: number, lat: number][] = Array.from({ length: 61 }, (_, index) => [
  -4 + (index * 100) / (111_195 * Math.cos((57.5 * Math.PI) / 180)),
  57.5,
])

/** The part of the road without service, from 2 to 3.5 km. */
const isTunnel = (index: number) => index >= 20 && index < 35
const passes = 5
/** Offsets of the lanes in degrees of latitude. The test clicks only approximately on the road. */
const lanes = [-0.0009, 0, 0.0009]
const minuteMs = 60_000

/** An organization whose router measured the road, and a key that can read it. */
export type SurveyedRoad = { organizationId: string; key: string }

/** Creates the organization and reports the measurements of several drives along the road. */
export async function reportRoad({ url, call, adminKey }: Product): Promise<SurveyedRoad> {
  const post = <Answer>(path: string, body: unknown) => call<Answer>('POST', path, body, adminKey)
  const { id: organizationId } = await post<{ id: string }>('/orgs', { name: 'Road survey', plan: 'enterprise' })
  const { key } = await post<{ key: string }>(`/orgs/${organizationId}/api-keys`, { name: 'page', role: 'viewer' })
  const fields = { organizationId, serial: 'ROAD-1', name: 'Survey van', model: 'RF-310' }
  const { id } = await post<{ id: string }>('/devices', fields)
  const { token } = await post<{ token: string }>(`/devices/${id}/token`, {})
  const samples = road.flatMap(([lon, roadLat], index) =>
    lanes.flatMap((offset, lane) =>
      Array.from({ length: passes }, (_, pass) => {
        const sample = { kind: 'cellular', lat: roadLat + offset, lon, accuracyM: 5, fixAgeMs: 0, plmn: '23410' }
        const ts = Date.now() - ((index * lanes.length + lane) * passes + pass + 1) * minuteMs
        return isTunnel(index)
          ? { ...sample, ts, rat: 'none' }
          : { ...sample, ts, rat: 'lte', operatorName: 'Highland Mobile', rsrpDbm: -92 - (index % 7), sinrDb: 9 }
      }),
    ),
  )
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${url}/telemetry`, { method: 'POST', headers, body: JSON.stringify({ samples }) })
  expect([answer.status, await answer.json()]).toMatchObject([202, { accepted: samples.length }])
  return { organizationId, key }
}

/** Resolves once the coverage of the whole road is counted. */
export async function roadIsCounted({ call }: Product, { key }: SurveyedRoad): Promise<void> {
  const deadM = async () => {
    const { summary } = await call<{ summary: { deadM: number } }>('POST', '/fleet/forecast', { path: road }, key)
    return summary.deadM
  }
  await expect.poll(deadM, { timeout: 4 * minuteMs, interval: 3_000 }).toBeGreaterThan(1_000)
}
