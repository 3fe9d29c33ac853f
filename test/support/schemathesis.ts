import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

/** Server errors, and answers the contract does not describe: statuses, media types, bodies. */
export const contractChecks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_schema_conformance',
] as const

/** The command to run schemathesis with: from the PATH, or from where `.ci/run` installs it; undefined without either. */
export function findSchemathesis(): string | undefined {
  if (spawnSync('schemathesis', ['--version']).status === 0) return 'schemathesis'
  const installed = resolve('.cache/schemathesis/bin/schemathesis')
  return existsSync(installed) ? installed : undefined
}

/** Runs schemathesis to its end, or until `signal` aborts; resolves with its exit code and everything it printed. */
export function startSchemathesis(
  command: string,
  args: readonly string[],
  { folder, signal }: { folder: string; signal?: AbortSignal },
): Promise<{ code: number | null; output: string }> {
  const child = spawn(command, args, { cwd: folder, ...(signal && { signal }) })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += chunk))
  // An aborted child is an error too; its end says all there is to say.
  child.on('error', () => {})
  return new Promise((end) => child.once('close', (code) => end({ code, output })))
}
