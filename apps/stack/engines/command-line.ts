import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Returns the command line of a running process, its arguments joined by spaces, or undefined if there is no such
 * process. A stored process id alone is not sufficient, because the system may have reused it.
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
