import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

/** Checks for server errors and for responses that do not match the contract: statuses, media types, bodies. */
export const contractChecks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
] as const

/** Returns the schemathesis command from the PATH or from the folder where `.ci/run` installs it, or undefined. */
export function findSchemathesis(): string | undefined {
  if (spawnSync('schemathesis', ['--version']).status === 0) return 'schemathesis'
  const installed = resolve('.cache/schemathesis/bin/schemathesis')
  return existsSync(installed) ? installed : undefined
}

/** Runs schemathesis until it exits or `signal` aborts. Resolves with its exit code and its output. */
export function startSchemathesis(
  command: string,
  args: readonly string[],
  { folder, signal }: { folder: string; signal?: AbortSignal },
): Promise<{ code: number | null; output: string }> {
  const child = spawn(command, args, { cwd: folder, ...(signal && { signal }) })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  // Aborting a child also emits an error. The exit handler covers it.
  child.on('error', () => {})
  return new Promise((end) => child.once('close', (code) => end({ code, output })))
}
