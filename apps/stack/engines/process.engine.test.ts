import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { freePort, keepForItself, waitUntilReady } from './process.ts'

test('ports are distinct, not reserved, and free', async () => {
  keepForItself(20_001)
  const ports = await Promise.all(Array.from({ length: 200 }, () => freePort()))
  expect(new Set(ports).size).toBe(200)
  expect(ports).not.toContain(20_001)
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(ports[0], '127.0.0.1', resolve)
  })
  server.close()
})

test('a probe that never ends is repeated', async () => {
  let probes = 0
  const probe = () => {
    probes++
    return probes === 1 ? new Promise<void>(() => {}) : Promise.resolve()
  }
  const process = { pid: 1, exited: new Promise<string>(() => {}), kill: () => {} }
  await waitUntilReady('Engine', process, probe, { logFile: 'none', probeLimitMs: 10 })
  expect(probes).toBe(2)
})
