import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openQuestdbSql, type QuestdbSql } from '#questdb/server/sql'
import { type QuestdbEngine, startQuestdb } from '../../apps/stack/engines/questdb.ts'
import { shortLivedQuestdb } from './short-lived-questdb.ts'

/** A QuestDB server of its own, with an empty folder, that a test can kill, freeze and restart. */
export type TestCopy = {
  name: string
  /** Its entry in `QUESTDB_SERVERS`. It stays the same after a restart. */
  entry: string
  questdb: QuestdbSql
  /** The root folder of the server, which contains `db`. */
  folder: string
  /** Ends the server with SIGKILL. */
  kill(): Promise<void>
  /** Starts a killed server with its data. */
  restart(): Promise<void>
  /** Stops the process without ending it: connections are accepted and never answered. */
  freeze(): void
  thaw(): void
  stop(): Promise<void>
}

/** Starts a server, with what `restore` writes to its root folder. Resolves when it answers queries. */
export async function startTestCopy(name: string, restore?: (folder: string) => Promise<void>): Promise<TestCopy> {
  const dir = await mkdtemp(join(tmpdir(), `routerfleet-copy-${name}-`))
  const folder = join(dir, 'data')
  await mkdir(folder)
  await restore?.(folder)
  const options = { dir, ...shortLivedQuestdb }
  let engine: QuestdbEngine = await startQuestdb(options)
  const { httpUrl, pgUrl, user, password, ports } = engine
  const url = new URL(httpUrl)
  Object.assign(url, { username: user, password })
  const questdb = openQuestdbSql(pgUrl, { applicationName: 'test', maxConnections: 2 })
  return {
    name,
    entry: `${name}=${url.href},${pgUrl}`,
    questdb,
    folder,
    async kill() {
      process.kill(engine.pid, 'SIGKILL')
      await engine.exited
    },
    async restart() {
      engine = await startQuestdb({ ...options, ports })
    },
    freeze: () => void process.kill(engine.pid, 'SIGSTOP'),
    thaw: () => void process.kill(engine.pid, 'SIGCONT'),
    async stop() {
      await questdb.end()
      await engine.stop()
      await rm(dir, { recursive: true, force: true })
    },
  }
}
