import { execFile } from 'node:child_process'
import { appendFile, chmod, cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { systemOwner } from '../../apps/stack/engines/owner.ts'
import { type PostgresEngine, startPostgres } from '../../apps/stack/engines/postgres.ts'
import { freePort } from '../../apps/stack/engines/process.ts'
import { until } from './until.ts'

/** A Postgres server and its synchronous standby, which exchange their roles with each failover. */
export type PostgresPair = {
  /** A connection string with both hosts. */
  url: string
  /** The connection string of the current primary. */
  primaryUrl(): string
  /** Kills the primary with SIGKILL and promotes the standby. Resolves when the standby is the primary. */
  failOver(): Promise<void>
  /** Starts the killed server again with its data, so that it considers itself the primary. */
  resurrect(): Promise<void>
  /** Makes the killed server the synchronous standby of the primary, with a new copy of its data. */
  rebuild(): Promise<void>
  stop(): Promise<void>
}

type Server = { dir: string; port: number; engine?: PostgresEngine | undefined }

const run = promisify(execFile)
const standbyName = 'standby'

/** Starts both servers in `dir`. */
export async function startPostgresPair(dir: string): Promise<PostgresPair> {
  let primary: Server = { dir: join(dir, 'first'), port: await freePort() }
  let standby: Server = { dir: join(dir, 'second'), port: await freePort() }
  const ports = [primary.port, standby.port]
  // Postgres does not run as root: its user must be able to enter these folders.
  for (const folder of [dir, primary.dir, standby.dir]) {
    await mkdir(folder, { recursive: true })
    await chmod(folder, 0o711)
  }
  await start(primary)
  // Above the setting of a server that is not durable: a commit waits for the standby, which is what this pair is for.
  await query(urlOf(primary), 'ALTER DATABASE routerfleet SET synchronous_commit = on')
  await fill(standby, primary)
  const url = new URL(urlOf(primary))

  return {
    url: url.href.replace(url.host, ports.map((port) => `127.0.0.1:${port}`).join(',')),
    primaryUrl: () => urlOf(primary),
    async failOver() {
      const killed = primary
      process.kill(engineOf(killed).pid, 'SIGKILL')
      await engineOf(killed).exited
      killed.engine = undefined
      primary = standby
      standby = killed
      await query(urlOf(primary), 'SELECT pg_promote()')
    },
    resurrect: () => start(standby),
    async rebuild() {
      await standby.engine?.stop()
      await fill(standby, primary)
    },
    async stop() {
      for (const { engine } of [standby, primary]) await engine?.stop()
    },
  }
}

/** A killed process loses nothing that it wrote, so no write waits for the disk. */
async function start(server: Server): Promise<void> {
  server.engine = await startPostgres({ dir: server.dir, port: server.port, durable: false })
}

/** Copies the data of the running primary to the standby, starts it and waits until commits wait for it. */
async function fill(standby: Server, primary: Server): Promise<void> {
  const { host, port, username, password } = parse(urlOf(primary))
  const source = join(primary.dir, 'cluster')
  const target = join(standby.dir, 'cluster')
  await rm(target, { recursive: true, force: true })
  await cp(join(primary.dir, 'password'), join(standby.dir, 'password'))
  await withClient(urlOf(primary), async (client) => {
    await client.query(
      `SELECT pg_create_physical_replication_slot($1, true)
        WHERE NOT EXISTS (SELECT FROM pg_replication_slots WHERE slot_name = $1)`,
      [standbyName],
    )
    await client.query(`SELECT pg_backup_start('standby', true)`)
    await copyChangingFolder(source, target)
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
    await removeContents(join(target, 'pg_wal'))
    await removeContents(join(target, 'pg_replslot'))
    await rm(join(target, 'postmaster.pid'), { force: true })
    await writeFile(join(target, 'backup_label'), rows[0]?.labelfile ?? '')
    await writeFile(join(target, 'standby.signal'), '')
    const connection = `host=${host} port=${port} user=${username} password=${password} application_name=${standbyName}`
    const settings = [
      `primary_conninfo = '${connection}'`,
      `primary_slot_name = '${standbyName}'`,
      // The primary that it becomes has no standby at first, so that its commits must not wait for one.
      `synchronous_standby_names = ''`,
    ]
    await appendFile(join(target, 'postgresql.auto.conf'), `${settings.join('\n')}\n`)
    const { uid, gid } = await systemOwner()
    await run('chown', ['-R', `${uid}:${gid}`, target])
    await start(standby)
    await client.query(`ALTER SYSTEM SET synchronous_standby_names = '${standbyName}'`)
    await client.query('SELECT pg_reload_conf()')
    const isSynchronous = async () =>
      (await client.query(`SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`)).rowCount === 1
    await until('the standby is synchronous', isSynchronous, 60_000)
  })
}

/** Copies a folder in which files are created and removed meanwhile. */
async function copyChangingFolder(source: string, target: string): Promise<void> {
  await run('cp', ['--archive', source, target], { env: { ...process.env, LC_ALL: 'C' } }).catch((error: unknown) => {
    const problems = error instanceof Error && 'stderr' in error ? String(error.stderr).trim().split('\n') : []
    if (!problems.every((line) => line.endsWith('No such file or directory'))) throw error
  })
}

async function removeContents(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true })
}

const query = (url: string, sql: string) => withClient(url, (client) => client.query(sql))

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  // The statement that runs rejects when the connection is lost.
  client.on('error', () => {})
  await client.connect()
  return work(client).finally(() => client.end())
}

function engineOf({ engine, dir }: Server): PostgresEngine {
  if (!engine) throw new Error(`The Postgres server in ${dir} does not run.`)
  return engine
}

const urlOf = (server: Server): string => engineOf(server).url

function parse(url: string) {
  const { hostname: host, port, username, password } = new URL(url)
  return { host, port, username, password }
}
