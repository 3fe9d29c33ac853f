import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { isCode } from '#files/durable-file'
import { type DataFolder, dataFolder } from '../data-folder.ts'

export type Command = {
  /** Absolute path of the backup. */
  folder: string
  /** The data folder of `npm start`. */
  data: DataFolder
  /** The environment variables describe the installation, as in the image. */
  isDeployment: boolean
  say(text: string): void
  /** Aborts on SIGINT, SIGTERM and SIGHUP. */
  signal: AbortSignal
}

/** Runs `npm run backup` or `npm run restore`. Prints one sentence and exits with code 1 if it fails. */
export async function runCommand(
  name: 'backup' | 'restore',
  args: string[],
  work: (command: Command) => Promise<void>,
): Promise<void> {
  // Only the user who runs it can read what it writes.
  process.umask(0o077)
  const stopping = new AbortController()
  const stop = () => stopping.abort(new Error(`The ${name} was stopped.`))
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, stop)
  try {
    await work({ ...parse(name, args), say: console.log, signal: stopping.signal })
  } catch (error) {
    console.error(stopping.signal.aborted ? `The ${name} was stopped.` : sentenceOf(error))
    process.exitCode = 1
  }
  process.exit()
}

function parse(name: string, args: string[]): Pick<Command, 'folder' | 'data' | 'isDeployment'> {
  const usage = `Usage: npm run ${name} -- FOLDER [--data-dir .data] [--deployment]`
  try {
    const { values, positionals } = parseArgs({
      args,
      allowPositionals: true,
      options: {
        'data-dir': { type: 'string', default: '.data' },
        deployment: { type: 'boolean', default: false },
      },
    })
    const [folder, ...rest] = positionals
    if (folder === undefined || rest.length > 0) throw new Error('Give one folder for the backup.')
    return { folder: resolve(folder), data: dataFolder(resolve(values['data-dir'])), isDeployment: values.deployment }
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : error} ${usage}`)
  }
}

function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const path = 'path' in error ? String(error.path) : 'a file'
  if (isCode(error, 'ENOSPC', 'EDQUOT')) return 'The disk is full: free space or choose a folder on another disk.'
  if (isCode(error, 'EACCES', 'EPERM', 'EROFS'))
    return `Permission denied for ${path}: run the command as a user who may access it.`
  return error.message
}
