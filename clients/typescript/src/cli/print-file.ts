import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { CommandError, exitCodes } from './exit-codes.ts'

/** Writes a file of the service to the standard output, at the speed of its reader. Throws if it does not come to its end. */
export const printFile = (file: unknown): Promise<void> =>
  pipeline(Readable.fromWeb(file as ReadableStream), process.stdout, { end: false })

/** Throws if a file that is not text would go to a terminal. */
export function refuseTerminal(format: string): void {
  if (format !== 'parquet' || !process.stdout.isTTY) return
  throw new CommandError('Parquet is not text. Write it to a file, for example `> export.parquet`.', exitCodes.usage)
}
