import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { decodeFile, decodeUnicode } from '../file-encoding.ts'
import { CommandError, exitCodes } from './exit-codes.ts'
import { jsonValue } from './json-value.ts'

/** The text of a file in UTF-8 or UTF-16; `-` is the standard input. */
export async function readInput(path: string): Promise<string> {
  const text = decodeUnicode(await readBytes(path))
  if (text !== undefined) return text
  throw new CommandError(`Cannot read ${nameOf(path)}: it is not UTF-8. Save it as UTF-8.`, exitCodes.usage)
}

/**
 * The text of a table that a spreadsheet may have saved in Windows-1252; `-` is the standard input. Tells of this encoding with an
 * example, and asks in a terminal whether it is right.
 */
export async function readTable(path: string): Promise<string> {
  const { text, example } = decodeFile(await readBytes(path))
  if (example === undefined) return text
  process.stderr.write(`${nameOf(path)} is not UTF-8. It is read as Windows-1252, for example: ${example}\n`)
  if (!process.stdin.isTTY || !process.stderr.isTTY) return text
  if (/^y(es)?$/i.test(await ask('Is this right? [y/N] '))) return text
  throw new CommandError('Nothing was sent. Save the file as “CSV UTF-8”.', exitCodes.usage)
}

const nameOf = (path: string): string => (path === '-' ? 'The standard input' : path)

/** The bytes of a file; `-` is the standard input. */
export async function readBytes(path: string): Promise<Buffer> {
  try {
    return path === '-' ? await buffer(process.stdin) : await readFile(path)
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'it does not exist' : (error as Error).message
    throw new CommandError(`Cannot read ${path}: ${reason}.`, exitCodes.usage)
  }
}

/** A JSON object from an option: the text itself, `@file`, or `-` for the standard input. */
export const readJson = async (argument: string): Promise<Record<string, unknown>> =>
  jsonValue(await readArgument(argument)) as Record<string, unknown>

/** The text of an option: the text itself, `@file`, or `-` for the standard input. */
export const readArgument = async (argument: string): Promise<string> =>
  argument === '-' || argument.startsWith('@') ? readInput(argument.replace(/^@/, '')) : argument

async function ask(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return (await lines.question(question)).trim()
  } finally {
    lines.close()
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
