import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * The command line of a living process, its arguments joined by blanks; undefined when there is no such process. A
 * process id alone proves nothing: it may have been given to somebody else since it was written down.
 */
export async function commandLine(pid: number): Promise<string | undefined> {
  if (!Number.isInteger(pid) || pid <= 1) return undefined
  const text = process.platform === 'linux' ? await fromProc(pid) : await fromPs(pid)
  return text.trim() || undefined
}

const fromProc = async (pid: number) => {
  const text = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  return text.replaceAll('\0', ' ')
}

const fromPs = async (pid: number) => {
  const { stdout } = await run('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(() => ({ stdout: '' }))
  return stdout
}
