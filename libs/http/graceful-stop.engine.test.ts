import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'routerfleet-stop-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const modulePath = join(import.meta.dirname, 'graceful-stop.ts')

/** A process that waits for a message, and then serves until it is stopped. */
async function startChild(beforeServing = '') {
  const script = join(folder, `child-${Math.random().toString(36).slice(2)}.ts`)
  await writeFile(
    script,
    `import { createServer } from 'node:http'
     import { stopGracefully } from ${JSON.stringify(modulePath)}
     ${beforeServing}
     const server = createServer().listen(0, '127.0.0.1', () => process.connected && process.send?.('serving'))
     stopGracefully(server, async () => {})`,
  )
  return fork(script, { stdio: 'ignore' })
}

test('exits 0 on SIGTERM, and when its parent’s channel closes', async () => {
  for (const end of ['SIGTERM', 'disconnect'] as const) {
    const child = await startChild()
    await once(child, 'message')
    const exited = once(child, 'exit')
    if (end === 'SIGTERM') child.kill('SIGTERM')
    else child.disconnect()
    expect((await exited)[0]).toBe(0)
  }
})

test('exits when its parent ended during the start', async () => {
  const child = await startChild("await new Promise((resolve) => process.once('disconnect', resolve))")
  const exited = once(child, 'exit')
  await once(child, 'spawn')
  child.disconnect()
  expect((await exited)[0]).toBe(0)
})

test('exits 0 on SIGTERM during the start', async () => {
  const child = await startChild(`
    import { exitOnSignals } from ${JSON.stringify(modulePath)}
    exitOnSignals()
    process.send?.('starting')
    await new Promise(() => setInterval(() => {}, 1_000))`)
  await once(child, 'message')
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  expect(await exited).toEqual([0, null])
})
