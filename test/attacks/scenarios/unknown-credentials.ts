import { setTimeout as delay } from 'node:timers/promises'
import { issueToken } from '#core/tokens'
import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'

type UnknownCall = { path: string; method?: string; token?: string; type?: string; body?: string }

/** Sends well-formed but unknown keys and tokens from many addresses, to avoid the limits per address. */
export const unknownCredentials: Attack = {
  name: 'unknown-credentials',
  about: 'thousands of unknown API keys, device tokens, enrollment keys and foreign JWTs from 200 addresses',
  async run({ url }, { quick, signal }) {
    const addresses = process.platform === 'linux' ? 200 : 1
    const clients = Array.from({ length: addresses }, (_, index) =>
      openAttackerClient(signal, process.platform === 'linux' ? { localAddress: `127.0.3.${index + 1}` } : {}),
    )
    const endMs = Date.now() + (quick ? 6_000 : 60_000)
    const enroll = () => JSON.stringify({ enrollmentKey: issueToken('fle').token, serial: 'S', model: 'M' })
    const calls: (() => UnknownCall)[] = [
      () => ({ path: '/devices', token: issueToken('flk').token }),
      () => ({ path: '/fleet/gps', token: foreignJwt() }),
      () => ({
        path: '/telemetry',
        method: 'POST',
        token: issueToken('fld').token,
        body: '{"samples":[{"kind":"system"}]}',
      }),
      () => ({ path: '/device/jobs/next', token: issueToken('fld').token }),
      () => ({ path: '/device/enroll', method: 'POST', body: enroll() }),
      () => ({
        path: '/auth/token',
        method: 'POST',
        type: 'application/x-www-form-urlencoded',
        body: `grant_type=client_credentials&client_id=${issueToken('flk').id}&client_secret=${'0'.repeat(64)}`,
      }),
    ]
    let number = 0
    const attack = async (client: (typeof clients)[number]) => {
      while (Date.now() < endMs && !signal.aborted) {
        const { path, token, type, ...rest } = calls[number++ % calls.length]?.() ?? { path: '/' }
        const answer = await client.call({
          url: `${url}${path}`,
          headers: {
            ...(token !== undefined && { authorization: `Bearer ${token}` }),
            'content-type': type ?? 'application/json',
          },
          ...rest,
        })
        if (answer === undefined || answer.status === 429) await delay(100)
      }
    }
    try {
      await Promise.all(clients.map(attack))
      const answers: Record<string, number> = {}
      for (const client of clients) {
        for (const [answer, count] of Object.entries(client.answers)) answers[answer] = (answers[answer] ?? 0) + count
      }
      return { answers }
    } finally {
      for (const client of clients) client.close()
    }
  },
}

/** A JWT of an untrusted issuer with a random signature. */
export function foreignJwt(issuer = 'https://issuer.example'): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const claims = {
    iss: issuer,
    sub: `s${Math.random()}`,
    aud: 'routerfleet',
    exp: Math.floor(Date.now() / 1_000) + 600,
  }
  const signature = Buffer.from(String(Math.random()).repeat(5)).toString('base64url')
  return `${part({ alg: 'RS256', typ: 'at+jwt', kid: String(Math.random()) })}.${part(claims)}.${signature}`
}
