import { type IncomingMessage, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { seedDevices } from '#test/seed-devices'
import type { Finding } from '../../faults/fault.ts'
import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'
import { seededMap, seedHistory } from '../seeded-map.ts'

/** The maximum time until a revocation takes effect in all processes. */
const revocationMs = 5_000
/** Data that may be in transit when a key is revoked: pages in memory and bytes in sockets. */
const linesOnTheirWay = 40_000
const devicesAtOnce = 5_000

/** A download that is paused after its first bytes. `rest` reads the remainder and resolves with its lines. */
async function heldDownload(url: string, token: string): Promise<{ status: number; rest(): Promise<number> }> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { headers: { authorization: `Bearer ${token}` }, agent: false }, resolve)
      .on('error', reject)
      .end()
  })
  // The client does not read until `rest`, so data waits in the sockets.
  answer.pause()
  return {
    status: answer.statusCode ?? 0,
    rest: () =>
      new Promise((resolve) => {
        let lines = 0
        answer.on('data', (chunk: Buffer) => {
          for (const byte of chunk) if (byte === 10) lines += 1
        })
        answer.on('error', () => {})
        answer.on('close', () => resolve(lines))
        answer.resume()
      }),
  }
}

/** Continues downloads after their key was revoked or their device was deleted. */
export const revokedExports: Attack = {
  name: 'revoked-exports',
  about: 'exports and histories that are paused while their key is revoked or their device is deleted',
  prepare: seededMap,
  async run(target, { quick, signal }) {
    const { organizationId, adminKey, deviceIds } = await seededMap(target)
    const client = openAttackerClient(signal)
    const samples = quick ? 150_000 : 400_000
    const deviceCount = quick ? 60_000 : 90_000
    const [kept = '', deleted = ''] = deviceIds
    await seedHistory(target, kept, samples)
    await seedHistory(target, deleted, samples)
    for (let seeded = 0; seeded < deviceCount; seeded += devicesAtOnce) {
      await seedDevices(target.pool, organizationId, devicesAtOnce)
    }
    const as = (token: string) => ({ authorization: `Bearer ${token}` })
    const newKey = async () => {
      const url = `${target.url}/orgs/${organizationId}/api-keys`
      const answer = await client.call({
        url,
        method: 'POST',
        headers: as(adminKey),
        json: { name: 'K', role: 'viewer' },
      })
      return JSON.parse(answer?.body ?? '{}') as { id: string; key: string }
    }
    const remove = (path: string) =>
      client.call({ url: `${target.url}${path}`, method: 'DELETE', headers: as(adminKey) })
    const history = (deviceId: string) =>
      `${target.url}/api/router/${deviceId}/telemetry/history?format=ndjson&sinceMinutes=129600`

    try {
      const key = await newKey()
      const downloads = [
        {
          what: 'history of a device after its key was revoked',
          all: samples,
          held: await heldDownload(history(kept), key.key),
        },
        {
          what: 'device export after its key was revoked',
          all: deviceCount,
          held: await heldDownload(`${target.url}/devices/export?format=ndjson&orgId=${organizationId}`, key.key),
        },
        { what: 'history of a deleted device', all: samples, held: await heldDownload(history(deleted), adminKey) },
      ]
      await Promise.all([remove(`/orgs/${organizationId}/api-keys/${key.id}`), remove(`/devices/${deleted}`)])
      await delay(revocationMs, undefined, { signal }).catch(() => {})
      const findings: Finding[] = []
      for (const { what, all, held } of downloads) {
        const lines = await held.rest()
        findings.push({
          what,
          held: lines < linesOnTheirWay,
          detail: `${lines} of ${all} lines, status ${held.status}`,
        })
      }
      return { answers: client.answers, findings }
    } finally {
      client.close()
    }
  },
}
