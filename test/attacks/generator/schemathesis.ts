import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { contractChecks, findSchemathesis, startSchemathesis } from '#test/schemathesis'
import type { Finding } from '../../faults/fault.ts'
import type { Target } from '../target.ts'

/** Operations that do not end or wait for almost a minute. */
const excluded = '^/(fleet/gps/stream|device/jobs/next)$'

/** Runs schemathesis in parallel with the generator, if it is installed. Returns its findings. */
export async function runSchemathesis(
  { url }: Target,
  apiKey: string,
  { minutes, seed }: { minutes: number; seed: number },
  signal: AbortSignal,
): Promise<Finding> {
  const what = 'schemathesis'
  const command = findSchemathesis()
  if (command === undefined) return { what, held: true, detail: 'skipped: it is not installed' }
  const folder = await mkdtemp(join(tmpdir(), 'routerfleet-schemathesis-'))
  try {
    const { code, output } = await startSchemathesis(
      command,
      [
        'run',
        `${url}/openapi.json`,
        `--url=${url}`,
        `--header=Authorization: Bearer ${apiKey}`,
        `--checks=${contractChecks.filter((check) => check !== 'not_a_server_error').join(',')}`,
        `--exclude-path-regex=${excluded}`,
        '--phases=coverage,fuzzing',
        `--max-time=${Math.max(10, Math.floor(minutes * 60 - 10))}`,
        '--suppress-health-check=all',
        '--warnings=off',
        '--no-color',
        `--seed=${seed}`,
      ],
      { folder, signal },
    )
    // The harness checks for responses with 500. The contract documents 503.
    const held = code === 0 || signal.aborted
    return { what, held, detail: held ? lastWords(output) : output.slice(-3_000) }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns the summary line of a run. */
const lastWords = (output: string) => output.replaceAll('=', '').trim().split('\n').at(-1)?.trim() ?? ''
