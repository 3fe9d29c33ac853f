import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Agent as ConnectionPool } from 'undici'
import { expect, onTestFinished, test } from 'vitest'
import { accepted, enrolled, startEdgePeer } from '#test/edge-peer'
import { createEdgeClient } from './edge-client.ts'
import { runFleetRouter } from './fleet-router.ts'
import { makeRoster } from './world/roster.ts'

test('a router that is stopped while it boots ends without a request', async () => {
  const peer = await startEdgePeer(({ path }) => (path === '/device/enroll' ? enrolled : accepted()))
  const pool = new ConnectionPool()
  const folder = await mkdtemp(join(tmpdir(), 'fleet-router-'))
  onTestFinished(async () => {
    await pool.destroy()
    await peer.close()
    await rm(folder, { recursive: true, force: true })
  })
  const [spec] = makeRoster(1, 1)
  if (!spec) throw new Error('The roster is empty.')
  const stopping = new AbortController()
  await runFleetRouter({
    ...{ spec, folder, shift: undefined, images: undefined, historyFromMs: Date.now() },
    ...{ reportEveryMs: 200, rollBackAfterMs: 600_000 },
    connect: (signal) => createEdgeClient({ baseUrl: peer.baseUrl, dispatcher: pool, signal }),
    enrollmentKey: 'fle_test',
    // The router reads the clock first when it boots.
    clock: () => {
      stopping.abort()
      return Date.now()
    },
    log: () => undefined,
    signal: stopping.signal,
  })
  expect(peer.received).toEqual([])
})
