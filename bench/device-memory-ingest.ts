import { hash } from 'node:crypto'
import { issueToken } from '#core/tokens'
import type { Queryable } from '#postgres/pool'
import { createDeviceAccess } from '../apps/ingest/access/device-access.ts'
import { createDeviceTraffic } from '../apps/ingest/report/device-traffic.ts'
import type { FilledPart } from './device-memory-filled.ts'

const devicesAtOnce = 1_000
const intervalMs = 5 * 60_000

/** The cached tokens of the device edge. */
export async function fillGrants(devices: number): Promise<FilledPart> {
  let nextDevice = 0
  const query = async (_text: string, [tokenHashes]: [Buffer[]]) => ({
    rows: tokenHashes.map((tokenHash) => ({
      token_hash: tokenHash,
      device_id: uuid(nextDevice++),
      organization_id: uuid(0),
      tags: [],
      status: Buffer.from('online').toString(),
      expires_at: null,
      subscription_status: Buffer.from('active').toString(),
      subscription_changed_at: new Date(),
    })),
  })
  const access = createDeviceAccess({ db: { query } as unknown as Queryable, plans: {}, clock: Date.now })
  for (let first = 0; first < devices; first += devicesAtOnce) {
    const count = Math.min(devicesAtOnce, devices - first)
    const tokens = Array.from({ length: count }, () => issueToken('fld').token)
    await Promise.all(tokens.map((token) => access.authenticate(`Bearer ${token}`)))
  }
  return { keep: () => access.current({ tokenHash: hash('sha256', '', 'base64') } as never) }
}

/** The rate limits of devices. Each sends a report every five minutes. */
export async function fillTraffic(devices: number, reports: number): Promise<FilledPart> {
  const traffic = createDeviceTraffic({ requestsPerMinute: 120, burst: 240 })
  const startMs = Date.now()
  for (let report = 0; report < reports; report++) {
    for (let device = 0; device < devices; device++) {
      const nowMs = startMs + (report + device / devices) * intervalMs
      const deviceId = uuid(device)
      traffic.admit(deviceId, nowMs)
      traffic.count(deviceId, 1_000, nowMs)
    }
  }
  return { keep: () => traffic.isOverFairShare(uuid(0), startMs) }
}

const uuid = (number: number): string =>
  Buffer.from(`0199a000-0000-7000-8000-${number.toString(16).padStart(12, '0')}`).toString('latin1')
