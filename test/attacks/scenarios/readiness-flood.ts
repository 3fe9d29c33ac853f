import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'

/** Requests to public paths that query other parts of the service. */
export const readinessFlood: Attack = {
  name: 'readiness-flood',
  about: '/readyz, /openapi.json, /docs and the JWKS over 64 connections as fast as possible',
  async run({ url }, { quick, signal }) {
    const client = openAttackerClient(signal)
    const endMs = Date.now() + (quick ? 5_000 : 60_000)
    const paths = ['/readyz', '/readyz', '/openapi.json', '/docs', '/.well-known/jwks.json', '/no-such-path']
    let number = 0
    const attack = async () => {
      while (Date.now() < endMs && !signal.aborted)
        await client.call({ url: `${url}${paths[number++ % paths.length]}` })
    }
    try {
      await Promise.all(Array.from({ length: 64 }, attack))
      return { answers: client.answers }
    } finally {
      client.close()
    }
  },
}
