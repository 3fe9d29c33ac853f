/** The exit codes of the command line. `docs/command-line.md` describes them. */
export const exitCodes = {
  failed: 1,
  usage: 2,
  noAccess: 3,
  notFound: 4,
  refused: 5,
  unavailable: 6,
  jobsFailed: 7,
} as const

/** An error with a sentence for the person at the terminal. */
export class CommandError extends Error {
  readonly exitCode: number

  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message)
    this.exitCode = exitCode
  }
}
