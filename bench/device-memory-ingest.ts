import { hash } from 'node:crypto'
import { issueToken } from '#core/tokens'
import type { DeviceAccessFacts } from '#fleet/devices/credentials/token-grants'
import type { Queryable } from '#postgres/pool'
import { createDeviceAccess } from '../apps/ingest/access/device-access.ts'
import { createDeviceTraffic } from '../apps/ingest/http/device-traffic.ts'
import type { FilledPart } from './device-memory-filled.ts'

const devicesAtOnce = 1_000
const intervalMs = 5 * 60_000

/** The cached tokens of the device edge. */
export async function fillGrants(devices: number): Promise<FilledPart> {
  let nextDevice = 0
  const query = async (_text: string, [tokenHashes]: [Buffer[]]) => ({
    rows: tokenHashes.map((tokenHash) => ({
      tokenHash,
      ...({
        ...{ deviceId: uuid(nextDevice++), organizationId: uuid(0), tags: [], disabled: false },
        ...{ expiresAtMs: Number.POSITIVE_INFINITY, refusedFromMs: Number.POSITIVE_INFINITY },
      } satisfies DeviceAccessFacts),
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
