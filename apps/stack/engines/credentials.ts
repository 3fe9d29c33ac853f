import { randomBytes } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isCode, replaceFile } from '#files/durable-file'

/**
 * Returns the secret in `path` (mode 0600): 256 random bits as 64 hex digits, generated if there is no file. Throws an error
 * that ends with `advice` if the file is empty or cannot be read, because data may depend on the secret that it had.
 */
export async function keptSecret(path: string, advice: string): Promise<string> {
  const known = await readIfAny(path, advice)
  if (known?.trim()) return known.trim()
  if (known !== undefined) throw new Error(`${path} is empty, but must have a secret. ${advice}`)
  const secret = randomBytes(32).toString('hex')
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await replaceFile(path, `${secret}\n`)
  return secret
}

async function readIfAny(path: string, advice: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw new Error(
      `The secret in ${path} cannot be read: ${error instanceof Error ? error.message : error}. ${advice}`,
    )
  }
}

/** For passwords that an engine receives at each start. */
export const replaceable = 'Delete the file, and the next start makes a new one.'
