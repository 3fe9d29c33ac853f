import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { DataFolder } from './data-folder.ts'
import { commandLine } from './engines/command-line.ts'

const politeMs = 10_000
const hardMs = 5_000

/**
 * Stops the processes that a killed start left running on this folder, apps first. Returns their names. Only stops
 * processes whose command line contains the folder, because the system may have reused a stored process id.
 */
export async function stopLeftovers(folder: DataFolder): Promise<string[]> {
  const apps = (await readdir(folder.run).catch(() => [])).map((name) => ({ name, pidFile: join(folder.run, name) }))
  const engines = [
    { name: 'Kafka', pidFile: join(folder.kafka, 'pid') },
    { name: 'Redis', pidFile: join(folder.redis, 'pid') },
    { name: 'QuestDB', pidFile: join(folder.questdb, 'pid') },
    { name: 'QuestDB-b', pidFile: join(folder.questdbB, 'pid') },
    { name: 'Postgres', pidFile: join(folder.postgres, 'pid') },
  ]
  const stopped = await Promise.all(apps.map((app) => stopLeftover(app, folder.dir)))
  stopped.push(...(await Promise.all(engines.map((engine) => stopLeftover(engine, folder.dir)))))
  return stopped.filter((name) => name !== undefined)
}

async function stopLeftover(part: { name: string; pidFile: string }, dir: string): Promise<string | undefined> {
  const pid = Number.parseInt(await readFile(part.pidFile, 'utf8').catch(() => ''), 10)
  const isOurs = async () => (await commandLine(pid))?.includes(dir) ?? false
  const found = await isOurs()
  // SIGINT is a fast shutdown for Postgres, Java and Node. With SIGTERM, Postgres waits for its clients.
  if (found && !(await ends(pid, 'SIGINT', isOurs, politeMs))) await ends(pid, 'SIGKILL', isOurs, hardMs)
  await rm(part.pidFile, { force: true })
  return found ? part.name : undefined
}

async function ends(
  pid: number,
  signal: NodeJS.Signals,
  isAlive: () => Promise<boolean>,
  deadlineMs: number,
): Promise<boolean> {
  try {
    process.kill(pid, signal)
  } catch {
    // The process exited before the signal.
  }
  const giveUpAt = Date.now() + deadlineMs
  while (Date.now() < giveUpAt) {
    if (!(await isAlive())) return true
    await pause(50)
  }
  return false
}
