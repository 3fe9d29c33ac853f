import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, afterEach, expect, test, vi } from 'vitest'
import { hasRedis } from '#test/redis'
import { commandLine } from './command-line.ts'
import { startRedis } from './redis.ts'

const dir = await mkdtemp(join(tmpdir(), 'routerfleet-redis-engine-'))
afterAll(() => rm(dir, { recursive: true, force: true }))
afterEach(() => vi.unstubAllEnvs())
const isInstalled = await hasRedis()

async function ping(url: string): Promise<string> {
  const client = new Redis(url, { maxRetriesPerRequest: 0, retryStrategy: () => null })
  client.on('error', () => {})
  try {
    return await client.ping()
  } finally {
    client.disconnect()
  }
}

test('Redis requires its password, and a killed one restarts at the same address', async ({ skip }) => {
  if (!isInstalled) return skip('redis-server is not installed.')
  const folder = join(dir, 'server')
  const first = await startRedis({ dir: folder })
  expect(await ping(first.url)).toBe('PONG')
  await expect(ping(first.url.replace(/:[0-9a-f]{64}@/, ''))).rejects.toThrow('NOAUTH')
  // A later start finds a process that was left over by its folder.
  expect(await commandLine(first.pid)).toContain(folder)
  process.kill(first.pid, 'SIGKILL')
  expect(await first.exited).toBe('was ended by SIGKILL')

  const second = await startRedis({ dir: folder, port: Number(new URL(first.url).port) })
  expect(second.url).toBe(first.url)
  expect(await ping(second.url)).toBe('PONG')
  await second.stop()
  expect(await second.exited).toBe('ended with code 0')
})

const advice = 'install it (on Debian and Ubuntu the package redis-server), or set REDIS_URL to a Redis of your own.'

test('a missing redis-server is one sentence that says how to get it', async () => {
  vi.stubEnv('PATH', dir)
  await expect(startRedis({ dir: join(dir, 'none') })).rejects.toThrow(`--cluster needs Redis 6.2 or newer: ${advice}`)
})

test('an older redis-server is refused', async () => {
  const bin = join(dir, 'bin')
  await mkdir(bin)
  await writeFile(join(bin, 'redis-server'), '#!/bin/sh\necho "Redis server v=6.0.16 sha=0:0"\n')
  await chmod(join(bin, 'redis-server'), 0o755)
  vi.stubEnv('PATH', bin)
  await expect(startRedis({ dir: join(dir, 'none') })).rejects.toThrow(
    `--cluster needs Redis 6.2 or newer and found 6.0: ${advice}`,
  )
})
