#!/usr/bin/env node
import { CommanderError } from 'commander'
import { exitCodes } from './exit-codes.ts'
import { explain } from './explain.ts'
import { createProgram } from './program.ts'
import type { GlobalOptions } from './session.ts'

// A pipe such as `| head` can close before everything is printed.
process.stdout.on('error', (error: NodeJS.ErrnoException) =>
  process.exit(error.code === 'EPIPE' ? 0 : exitCodes.failed),
)

const program = createProgram()
try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : exitCodes.usage
  else {
    const { text, exitCode } = explain(error, program.opts<GlobalOptions>().url)
    process.stderr.write(`${text}\n`)
    process.exitCode = exitCode
  }
}
