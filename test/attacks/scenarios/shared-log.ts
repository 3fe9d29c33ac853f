import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { until } from '#test/until'
import { freePort } from '../../../apps/stack/engines/process.ts'
import { SkipFault } from '../../faults/fault.ts'
import type { Attack } from '../attack.ts'
import { attempt } from '../http-attempt.ts'
import type { Target } from '../target.ts'

type Ingest = { child: ChildProcess; serves(): Promise<boolean>; hasEnded(): boolean; kill(): Promise<void> }

const startLimitMs = 30_000

/** Starts ingest in a separate process namespace, as in a container, where it is process 1. */
async function startAsProcessOne({ environment }: Target, logDir: string): Promise<Ingest> {
  const port = await freePort()
  const inNamespace = ['--pid', '--fork', '--mount-proc', '--kill-child']
  const child = spawn('unshare', [...inNamespace, process.execPath, 'apps/ingest/main.ts'], {
    stdio: 'ignore',
    env: { ...environment, HOST: '127.0.0.1', PORT: String(port), LOG_DIR: logDir },
  })
  const exited = once(child, 'exit')
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  return {
    child,
    hasEnded,
    serves: () =>
      attempt({ url: `http://127.0.0.1:${port}/readyz`, timeoutMs: 2_000 }).then(
        ({ status }) => status === 200,
        () => false,
      ),
    async kill() {
      if (!hasEnded()) child.kill('SIGKILL')
      await exited
    },
  }
}

/** Returns how many processes serve requests once one has ended and another serves, or after the start time. */
async function serving(ingests: readonly Ingest[]): Promise<number> {
  const count = async () => (await Promise.all(ingests.map((one) => one.serves()))).filter(Boolean).length
  const isDecided = async () => ingests.some((one) => one.hasEnded()) && (await count()) > 0
  await until('one has ended and another serves', isDecided, startLimitMs).catch(() => undefined)
  return count()
}

/** Runs two replicas on one volume, each as process 1 of its container. */
export const sharedLog: Attack = {
  name: 'shared-log',
  about: 'a second ingest with the same process id on one log folder, and two that start concurrently after a crash',
  async run(target) {
    if (process.platform !== 'linux') throw new SkipFault('needs process namespaces (root on Linux).')
    const probe = spawn('unshare', ['--pid', '--fork', '--mount-proc', 'true'], { stdio: 'ignore' })
    const [code] = await once(probe, 'exit').catch(() => [1])
    if (code !== 0) throw new SkipFault('needs the right to make process namespaces (root on Linux).')

    const logDir = join(target.folder.dir, 'shared-log')
    const ingests: Ingest[] = []
    const start = async () => {
      const ingest = await startAsProcessOne(target, logDir)
      ingests.push(ingest)
      return ingest
    }
    try {
      const first = await start()
      await until('the first serves', first.serves, startLimitMs)
      const second = await start()
      const together = await serving([first, second])
      await Promise.all([first.kill(), second.kill()])
      const again = await serving([await start(), await start()])
      return {
        answers: {},
        findings: [
          { what: 'the second process does not serve', held: together === 1, detail: `${together} serve on one log` },
          { what: 'one of two processes serves after a crash', held: again === 1, detail: `${again} serve on one log` },
        ],
      }
    } finally {
      await Promise.all(ingests.map((ingest) => ingest.kill()))
    }
  },
}
