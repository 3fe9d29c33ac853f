import { ProblemError } from '../problem.ts'
import { CommandError, exitCodes } from './exit-codes.ts'

/** The sentences and the exit code for an error. */
export function explain(error: unknown, baseUrl: string | undefined): { text: string; exitCode: number } {
  if (error instanceof CommandError) return { text: error.message, exitCode: error.exitCode }
  if (error instanceof ProblemError) return { text: textOf(error), exitCode: exitCodeOf(error.status) }
  const reason = error instanceof Error ? error.message : String(error)
  if (!(error instanceof TypeError)) return { text: reason, exitCode: exitCodes.failed }
  // `fetch` throws a TypeError with the reason as its cause.
  const { cause } = error
  const detail = cause instanceof Error && cause.message ? `${cause.message}.` : `${reason}.`
  return { text: `Cannot reach ${baseUrl ?? 'the service'}: ${detail}`, exitCode: exitCodes.unavailable }
}

function textOf({ message, problem }: ProblemError): string {
  const fields = (problem.errors ?? []).map(({ pointer, detail }) => `  ${pointer}: ${detail}`)
  return [message, ...fields].join('\n')
}

function exitCodeOf(status: number): number {
  if (status === 401 || status === 402 || status === 403) return exitCodes.noAccess
  if (status === 404) return exitCodes.notFound
  if (status === 429 || status >= 500) return exitCodes.unavailable
  return exitCodes.refused
}
