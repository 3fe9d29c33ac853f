import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, type GenerateKeyPairResult, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createIdentityProvider } from './identity-provider.ts'
import { ProviderUnavailableError } from './provider-fetch.ts'

const audience = 'https://api.example.test'
const documents = { discovery: '/.well-known/openid-configuration', keys: '/jwks' }

let keys: GenerateKeyPairResult
let issuer: string
/** What the provider is asked for, and the status it answers with. */
let asked: string[]
let status: number
const server = createServer(async (request, response) => {
  asked.push(request.url ?? '')
  const jwk = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'ES256' }
  const body = request.url === documents.keys ? { keys: [jwk] } : { issuer, jwks_uri: `${issuer}${documents.keys}` }
  response.writeHead(status).end(JSON.stringify(body))
})

beforeAll(async () => {
  keys = await generateKeyPair('ES256')
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})
afterAll(() => {
  server.close()
})
beforeEach(() => {
  asked = []
  status = 200
})

const sign = (claims: JWTPayload = {}, header: { kid?: string; typ?: string } = {}) =>
  new SignJWT({ iss: issuer, aud: audience, sub: 'ann', exp: Math.floor(Date.now() / 1_000) + 300, ...claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'one', typ: 'at+jwt', ...header })
    .sign(keys.privateKey)

/** A provider whose clock a test sets. */
function openProvider() {
  const outcomes: string[] = []
  const time = { nowMs: Date.now() }
  const provider = createIdentityProvider({
    issuer,
    audience,
    organizationsClaim: 'orgs',
    observe: (outcome) => outcomes.push(outcome),
    clock: () => time.nowMs,
  })
  const verify = (token: string) => provider.verify(token, Date.now())
  return { verify, outcomes, time }
}

test('concurrent tokens cause one discovery', async () => {
  const { verify, outcomes } = openProvider()
  const token = await sign()
  const claims = await Promise.all(Array.from({ length: 20 }, () => verify(token)))
  expect(claims.every(({ sub }) => sub === 'ann')).toBe(true)
  expect(asked).toEqual([documents.discovery, documents.keys])
  expect(outcomes).toEqual(['success', 'success'])
})

test('after a failure, the provider is requested again after a growing pause, not for every token', async () => {
  const { verify, outcomes, time } = openProvider()
  const token = await sign()
  status = 500
  const failing = await Promise.allSettled(Array.from({ length: 20 }, () => verify(token)))
  expect(failing.every((one) => one.status === 'rejected' && one.reason instanceof ProviderUnavailableError)).toBe(true)
  expect(asked).toHaveLength(1)
  await expect(verify(token)).rejects.toThrow(ProviderUnavailableError)
  expect(outcomes).toEqual(['failure', 'suppressed'])

  time.nowMs += 1_000
  await expect(verify(token)).rejects.toThrow(ProviderUnavailableError)
  time.nowMs += 1_000
  await expect(verify(token)).rejects.toThrow(ProviderUnavailableError)
  expect(asked).toHaveLength(2)

  status = 200
  time.nowMs += 1_000
  expect(await verify(token)).toMatchObject({ sub: 'ann' })
})

test('a response that is not the expected document counts as a failure', async () => {
  const { verify } = openProvider()
  const known = issuer
  issuer = 'https://elsewhere.example.test'
  const token = await sign({ iss: known })
  for (let time = 0; time < 3; time += 1) await expect(verify(token)).rejects.toThrow(ProviderUnavailableError)
  expect(asked).toHaveLength(1)
  issuer = known
})

test('unknown key ids cause one fetch of the keys', async () => {
  const { verify } = openProvider()
  await verify(await sign())
  for (const kid of ['two', 'three', 'four']) await expect(verify(await sign({}, { kid }))).rejects.toThrow()
  expect(asked.filter((path) => path === documents.keys)).toHaveLength(1)
})

test('a token with wrong claims causes no request', async () => {
  const { verify } = openProvider()
  const wrong = [
    await sign({ iss: 'https://evil.example.test' }),
    await sign({ aud: 'https://other.example.test' }),
    await sign({ exp: 1_000_000_000 }),
    await sign({}, { typ: 'id+jwt' }),
    `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.e30.`,
    'a.b.c',
  ]
  for (const token of wrong) {
    const refusal = await verify(token).catch((error: unknown) => error)
    expect(refusal).toBeInstanceOf(Error)
    expect(refusal).not.toBeInstanceOf(ProviderUnavailableError)
  }
  expect(asked).toEqual([])
})
