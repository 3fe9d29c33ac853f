import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Where `.ci/run` installs the generators. */
const installed = join(import.meta.dirname, '../../.cache/client-generators/bin')

/** Returns the path of a command on the PATH or in the folder where `.ci/run` installs it, or undefined. */
export function findGenerator(name: 'openapi-python-client' | 'oapi-codegen' | 'go'): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), installed]
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path))
}

/** Runs a program in a folder and returns what it prints. Throws an error with its output if it fails. */
export async function outputOf(command: string, args: readonly string[], folder: string): Promise<string> {
  const options = { cwd: folder, env: { ...process.env, GOFLAGS: '-mod=mod' }, maxBuffer: 64 * 1024 * 1024 }
  const { stdout, stderr } = await run(command, args, options).catch(
    (error: Error & { stdout: string; stderr: string }) => {
      throw new Error(`${command} ${args[0]} failed: ${error.stderr || error.stdout || error.message}`.slice(0, 6_000))
    },
  )
  return stdout + stderr
}
