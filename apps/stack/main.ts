import { relative } from 'node:path'
import { systemClock } from '#core/clock'
import type { AccessFile } from './access.ts'
import { type Options, readOptions } from './config.ts'
import { dataFolder, lockDataFolder, restrictDataFolder } from './data-folder.ts'
import { boundLogs } from './log-files.ts'
import { createParts } from './parts.ts'
import { createProgress } from './progress.ts'
import { createSignInLink } from './sign-in-link.ts'
import { interruption } from './signals.ts'
import { startOrder, startStack } from './stack.ts'

// Also for the databases, which inherit it: only their user can read the data.
process.umask(0o077)
const progress = createProgress(console.log, systemClock)

/** Runs the product until it receives a stop signal. Throws an error with one sentence if the start fails. */
async function run(options: Options): Promise<void> {
  const folder = dataFolder(options.dataDir)
  const lock = await lockDataFolder(folder)
  await restrictDataFolder(folder)
  const interrupted = interruption(progress)
  const parts = createParts(startOrder(options), progress, interrupted)
  const logs = boundLogs(folder)
  try {
    progress.say(`Routerfleet starts with its data in ${shown(folder.dir)}`)
    const access = await startStack(options, folder, parts, progress, interrupted)
    progress.say(welcome(access, options, shown(folder.accessFile), await signInLine(access)))
    if (!interrupted.aborted) await new Promise((resolve) => interrupted.addEventListener('abort', resolve))
  } catch (error) {
    if (interrupted.aborted) return
    throw error
  } finally {
    logs.end()
    await lock.stopping()
    await parts.stop()
    await lock.release()
  }
}

/**
 * A sign-in link, for a terminal only: an output that is redirected to a file or collected by a service manager would keep
 * the link.
 */
async function signInLine({ baseUrl, adminKey }: AccessFile): Promise<string> {
  const onDemand = 'npm run sign-in prints a link that signs you in'
  if (!process.stdout.isTTY) return onDemand
  // The public address may be that of a proxy that does not run yet.
  const link = await createSignInLink(baseUrl, adminKey).catch(() => undefined)
  return link ? `${link.url}\n       (once, within ten minutes; npm run sign-in prints a new link)` : onDemand
}

function welcome(access: AccessFile, options: Options, accessFile: string, signIn: string): string {
  const reach = options.host === '127.0.0.1' ? ' (this machine only; --host 0.0.0.0 opens it to the network)' : ''
  const key = access.demoKey === null ? 'adminKey' : 'demoKey'
  const read = `node -p "JSON.parse(fs.readFileSync('${accessFile}')).${key}"`
  return [
    '',
    `Ready: ${access.baseUrl}${reach}`,
    `Open:  ${signIn}`,
    `Keys:  ${accessFile} (${access.demoKey === null ? 'adminKey' : 'adminKey, demoKey'})`,
    `Try:   curl -H "Authorization: Bearer $(${read})" ${access.baseUrl}/fleet/gps`,
    'Stop:  Ctrl-C',
    '',
  ].join('\n')
}

const shown = (path: string) => relative(process.cwd(), path) || '.'

try {
  await run(readOptions(process.argv.slice(2), process.env))
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = 1
}
// An open IPC channel to the parent would keep this process alive.
process.exit()
