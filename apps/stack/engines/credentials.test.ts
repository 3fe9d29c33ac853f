import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { syncedPaths, syncsMissing } from '#test/synced-paths'
import { keptSecret } from './credentials.ts'

const root = await mkdtemp(join(tmpdir(), 'routerfleet-secrets-'))
afterAll(() => rm(root, { recursive: true, force: true }))

const advice = 'Restore it from a backup.'
let folder: string
let path: string
let count = 0
beforeEach(() => {
  folder = join(root, String(++count), 'secrets')
  path = join(folder, 'key')
})

test('a missing secret is generated once, and only its owner can read it', async () => {
  const secret = await keptSecret(path, advice)
  expect(secret).toMatch(/^[0-9a-f]{64}$/)
  expect(await keptSecret(path, advice)).toBe(secret)
  expect([(await stat(folder)).mode & 0o777, (await stat(path)).mode & 0o777]).toEqual([0o700, 0o600])
  expect(await readdir(folder)).toEqual(['key'])
})

test('a new secret is durable before it is used', async ({ skip }) => {
  if (syncsMissing !== null) return skip(syncsMissing)
  expect(await syncedPaths(() => keptSecret(path, advice))).toContain(folder)
})

test.each(['', '\n'])('an empty file is an error and stays as it is: %j', async (text) => {
  await mkdir(folder, { recursive: true })
  await writeFile(path, text)
  await expect(keptSecret(path, advice)).rejects.toThrow(`${path} is empty, but must have a secret. ${advice}`)
  expect(await readFile(path, 'utf8')).toBe(text)
})

test('a file that cannot be read is an error', async () => {
  await mkdir(path, { recursive: true })
  await expect(keptSecret(path, advice)).rejects.toThrow(
    /^The secret in .*key cannot be read: .* Restore it from a backup\.$/,
  )
})
