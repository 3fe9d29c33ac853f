import { setTimeout as delay } from 'node:timers/promises'
import type { Attack } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'
import { foreignJwt } from './unknown-credentials.ts'

/** Sends tokens of an identity provider that does not respond. */
export const identityProviderDown: Attack = {
  name: 'identity-provider-down',
  about: 'thousands of JWTs of an identity provider that does not respond',
  target: { environmentOf: (silentUrl) => ({ OIDC_ISSUER: silentUrl, OIDC_AUDIENCE: 'routerfleet' }) },
  async run({ url, environment }, { quick, signal }) {
    const client = openAttackerClient(signal)
    const endMs = Date.now() + (quick ? 6_000 : 60_000)
    const attack = async () => {
      while (Date.now() < endMs && !signal.aborted) {
        const headers = { authorization: `Bearer ${foreignJwt(environment.OIDC_ISSUER)}` }
        const answer = await client.call({ url: `${url}/devices`, headers, timeoutMs: 30_000 })
        if (answer?.status !== 503) await delay(50)
      }
    }
    try {
      await Promise.all(Array.from({ length: 300 }, attack))
      return { answers: client.answers }
    } finally {
      client.close()
    }
  },
}
