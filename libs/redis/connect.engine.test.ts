import { once } from 'node:events'
import tls from 'node:tls'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hasRedis, startRedis, type TestRedis } from '#test/redis'
import { testTls } from '#test/tls'
import { openRedisClient, type RedisClientOptions } from './connect.ts'

const problem = (await hasRedis()) ? undefined : 'redis-server is not on the PATH'

describe('a Redis with TLS', () => {
  beforeEach(({ skip }) => skip(problem !== undefined, problem))
  const authorities = tls.getCACertificates('default')
  let redis: TestRedis
  beforeAll(async () => {
    if (!problem) redis = await startRedis({ tls: true })
  })
  afterAll(async () => {
    tls.setDefaultCACertificates(authorities)
    await redis?.stop()
  })

  /** Returns the answer to a ping, or the errors of the connection and of the ping. */
  async function ping(url: string, options: RedisClientOptions): Promise<string> {
    const client = openRedisClient(url, options)
    const errors: string[] = []
    client.on('error', ({ message }) => errors.push(message))
    try {
      await new Promise((resolve) => client.once('ready', resolve).once('error', resolve))
      return await client.ping()
    } catch (error) {
      return [...errors, error].join(', ')
    } finally {
      client.disconnect()
    }
  }

  test('is used only with a certificate of a known authority', async () => {
    expect(await ping(redis.url, { rejects: true })).toContain('self-signed certificate')
    tls.setDefaultCACertificates([...authorities, testTls.cert])
    expect(await ping(redis.url, { rejects: true })).toBe('PONG')
  })

  test('whose machine disappears rejects commands after a few seconds instead of delaying them', async () => {
    tls.setDefaultCACertificates([...authorities, testTls.cert])
    const client = openRedisClient(redis.url, { rejects: true })
    client.on('error', () => {})
    await new Promise((resolve) => client.once('ready', resolve))
    redis.freeze()
    await expect(client.set('key', 'value')).rejects.toThrow()
    // While it does not respond, further commands are not delayed.
    const startedMs = performance.now()
    await expect(client.set('key', 'value')).rejects.toThrow()
    expect(performance.now() - startedMs).toBeLessThan(1_000)
    client.disconnect()
  }, 30_000)
})

test('a client connects to a cluster that lacks a primary, and its commands reject', async ({
  skip,
  onTestFinished,
}) => {
  skip(problem !== undefined, problem)
  const redis = await startRedis({ cluster: true })
  onTestFinished(redis.stop)
  const client = openRedisClient(redis.url, { rejects: true })
  onTestFinished(() => client.disconnect())
  await once(client, 'ready')
  // As workers do when a blocking command has no response.
  client.disconnect()
  await once(client, 'end')
  await client.connect()
  await expect(client.set('key', 'value')).rejects.toThrow('CLUSTERDOWN')
})
