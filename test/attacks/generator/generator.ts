import { setTimeout as delay } from 'node:timers/promises'
import { issueToken } from '#core/tokens'
import type { OpenApiDocument } from '../../../apps/control-plane/http/openapi.ts'
import type { Finding } from '../../faults/fault.ts'
import type { Attack, AttackOptions } from '../attack.ts'
import { openAttackerClient } from '../attacker-client.ts'
import { foreignJwt } from '../scenarios/unknown-credentials.ts'
import type { Target } from '../target.ts'
import { createTenant, type Tenant } from '../tenant.ts'
import { deliver, manners } from './delivery.ts'
import { createRandom } from './random.ts'
import { type GeneratedRequest, generateRequest, type Known, operationsOf } from './request.ts'
import { runSchemathesis } from './schemathesis.ts'

const tenants = 4
const devicesEach = 15

/**
 * Sends random requests: operations, sizes, nesting, headers, codings and numbers of connections, some of them slow, cut or
 * abandoned. The same seed produces the same requests, but not in the same order.
 */
export const generator = (settings: { minutes: number; seed: number }): Attack => ({
  name: 'generator',
  about: `${settings.minutes} minutes of generated requests, seed ${settings.seed}`,
  target: {},
  durationMs: settings.minutes * 60_000,
  async run(target, options) {
    const attackers: Tenant[] = [target.attacker]
    while (attackers.length < tenants) {
      attackers.push(await createTenant(target.url, target.adminKey, `Generator ${attackers.length}`, devicesEach))
    }
    const endMs = Date.now() + settings.minutes * 60_000
    const beside = runSchemathesis(target, attackers[1]?.adminKey ?? '', settings, options.signal)
    const generated = await sendWaves(target, attackers, settings.seed, endMs, options)
    return { ...generated, findings: [...generated.findings, await beside] }
  },
})

async function sendWaves(
  target: Target,
  attackers: readonly Tenant[],
  seed: number,
  endMs: number,
  { signal }: AttackOptions,
) {
  const contract = (await (await fetch(`${target.url}/openapi.json`)).json()) as OpenApiDocument
  const operations = operationsOf(contract)
  const known = knownTo(attackers)
  const client = openAttackerClient(signal)
  const failures: string[] = []
  let acceptedSamples = 0

  for (let wave = 0; Date.now() < endMs && !signal.aborted; wave++) {
    const random = createRandom(seed, wave)
    const connections = random.size(200)
    const waveEndMs = Math.min(endMs, Date.now() + random.whole(500, 5_000))
    let number = 0
    const one = async () => {
      while (Date.now() < waveEndMs && !signal.aborted) {
        const name = `wave ${wave}, request ${number}`
        const chance = createRandom(seed, wave, number++)
        const request = generateRequest(chance, operations, known, Date.now())
        const url = chance.chance(0.9) ? target.url : target.ingestUrl
        const answer = await deliver(client, url, request, chance.pick(manners), chance, signal)
        if (answer === undefined) continue
        if (answer.status === 202 && request.path === '/telemetry') acceptedSamples += acceptedOf(answer.body)
        if (answer.status >= 500 && answer.status !== 503)
          failures.push(`${name}: ${answer.status} ${inShort(request)}`)
        if (answer.status === 429) await delay(20)
      }
    }
    await Promise.all(Array.from({ length: connections }, one))
  }
  client.close()
  const findings: Finding[] = [
    { what: 'no 5xx except 503', held: failures.length === 0, detail: failures.slice(0, 5).join('; ') || 'none' },
  ]
  return { answers: client.answers, acceptedSamples, findings }
}

function knownTo(attackers: readonly Tenant[]): Known {
  const [first, ...others] = attackers.map(({ organizationId }) => organizationId)
  const deviceIds = attackers.flatMap(({ devices }) => devices.slice(0, 5).map(({ id }) => id))
  const [token, ...tokens] = attackers.flatMap(({ devices }) => devices.map((device) => device.token))
  if (first === undefined || token === undefined) throw new Error('The target has no organization to attack from.')
  const good = attackers.flatMap(({ adminKey, viewerKey }) => [adminKey, adminKey, adminKey, viewerKey])
  const bad = [token, issueToken('flk').token, foreignJwt(), 'x', '', 'A'.repeat(6_000)]
  return {
    ids: [first, ...others, ...deviceIds],
    credentials: ['Basic eDp5', ...[...good, ...good, ...bad].map((text) => `Bearer ${text}`)],
    deviceTokens: [token, ...tokens],
  }
}

const acceptedOf = (body: string): number => Number(JSON.parse(body).accepted)

const inShort = ({ method, path, body }: GeneratedRequest) =>
  `${method} ${path.slice(0, 200)} ${body?.subarray(0, 200).toString('latin1') ?? ''}`
