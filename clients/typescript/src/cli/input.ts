import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { CommandError, exitCodes } from './exit-codes.ts'

/** The content of a file; `-` is the standard input. */
export async function readInput(path: string): Promise<string> {
  try {
    return path === '-' ? await text(process.stdin) : await readFile(path, 'utf8')
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : (error as Error).message
    throw new CommandError(`Cannot read ${path}: ${reason}.`, exitCodes.usage)
  }
}

/** A JSON object from an option: the text itself, `@file`, or `-` for the standard input. */
export async function readJson(argument: string): Promise<Record<string, unknown>> {
  const isFile = argument === '-' || argument.startsWith('@')
  const json = isFile ? await readInput(argument.replace(/^@/, '')) : argument
  try {
    return JSON.parse(json) as Record<string, unknown>
  } catch (error) {
    throw new CommandError(`The data is not JSON: ${(error as Error).message}.`, exitCodes.usage)
  }
}

/** Asks for a secret. The terminal does not show it. */
export async function askSecret(question: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true })
  process.stderr.write(question)
  try {
    return (await lines.question('')).trim()
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}

/** For options that can be repeated. */
export const collect = (value: string, before: string[] = []): string[] => [...before, value]
