import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Returns the secret in `path` (mode 0600): 256 random bits as 64 hex digits, generated on first use. */
export async function keptSecret(path: string): Promise<string> {
  const known = await readFile(path, 'utf8').catch(() => undefined)
  if (known?.trim()) return known.trim()
  const secret = randomBytes(32).toString('hex')
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, `${secret}\n`, { mode: 0o600 })
  return secret
}
