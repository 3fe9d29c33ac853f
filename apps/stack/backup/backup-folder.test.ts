import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { mountSmallDisk, NoSmallDiskError } from '#test/small-disk'
import { syncedPaths, syncsMissing } from '#test/synced-paths'
import { type BackupWriter, createBackup, type Manifest, readManifest, verifyBackup } from './backup-folder.ts'
import { copyFiles } from './restored-files.ts'

const root = await mkdtemp(join(tmpdir(), 'routerfleet-backup-'))
afterAll(() => rm(root, { recursive: true, force: true }))

const never = new AbortController().signal
const content = { startedAt: '2026-11-22T08:00:00.000Z', questdbVersion: '9.3.4', hasTelemetryLog: true }
const finish = (backup: BackupWriter) => backup.finish({ ...content, migrations: [], tables: [] })

async function* chunks(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text)
}

let count = 0
async function written() {
  count += 1
  const folder = join(root, `backup-${count}`)
  const backup = await createBackup(folder, never)
  await backup.add('questdb/db/table/a.d', chunks('one', 'two'))
  return { folder, manifest: await finish(backup) }
}

test('a complete backup is read and verified', async () => {
  const { folder, manifest } = await written()
  expect(await readManifest(folder)).toEqual(manifest)
  expect(manifest.files).toMatchObject([{ path: 'questdb/db/table/a.d', bytes: 6 }])
  expect(await readFile(join(folder, 'questdb/db/table/a.d'), 'utf8')).toBe('onetwo')
  await verifyBackup(folder, manifest, never)
})

test('the files and folders of a complete backup are durable, and those that are restored from it', async ({
  skip,
}) => {
  if (syncsMissing !== null) return skip(syncsMissing)
  let folder = ''
  let manifest: Manifest | undefined
  const synced = await syncedPaths(async () => {
    const result = await written()
    folder = result.folder
    manifest = result.manifest
  })
  const names = ['', 'questdb', 'questdb/db', 'questdb/db/table', 'questdb/db/table/a.d']
  expect(synced).toEqual(expect.arrayContaining([root, ...names.map((name) => join(`${folder}.incomplete`, name))]))
  const target = join(root, 'restored')
  const copied = await syncedPaths(async () => manifest && copyFiles(folder, manifest, 'questdb', target, never))
  expect(copied).toEqual(
    expect.arrayContaining([root, ...['', 'db', 'db/table', 'db/table/a.d'].map((name) => join(target, name))]),
  )
})

test('an interrupted backup is not taken for a complete one', async () => {
  const folder = join(root, 'interrupted')
  await (await createBackup(folder, never)).add('access.json', chunks('{}'))
  await expect(readManifest(folder)).rejects.toThrow(/is not a complete backup/)
  await expect(readManifest(`${folder}.incomplete`)).rejects.toThrow(
    `${folder}.incomplete is not a complete backup: it has no manifest.json.`,
  )
  await expect(createBackup(folder, never)).rejects.toThrow(
    `${folder}.incomplete exists: another backup writes to it or was interrupted. Delete it or choose another folder.`,
  )
})

test('an existing folder is not overwritten', async () => {
  const folder = join(root, 'existing')
  await mkdir(folder)
  await expect(createBackup(folder, never)).rejects.toThrow(`${folder} exists: choose a folder that does not exist.`)
})

test('a changed, a missing and an invalid file are found', async () => {
  const { folder, manifest } = await written()
  const path = join(folder, 'questdb/db/table/a.d')
  await writeFile(path, 'onetwO')
  await expect(verifyBackup(folder, manifest, never)).rejects.toThrow(
    `${folder} is damaged: questdb/db/table/a.d was changed.`,
  )
  await rm(path)
  await expect(verifyBackup(folder, manifest, never)).rejects.toThrow('questdb/db/table/a.d is missing.')
  await writeFile(join(folder, 'manifest.json'), '{"format": 1')
  await expect(readManifest(folder)).rejects.toThrow(`${folder} is damaged: manifest.json cannot be read.`)
})

test('a manifest cannot name files outside of the backup', async () => {
  const { folder, manifest } = await written()
  const files = [{ path: '../../etc/passwd', bytes: 1, sha256: '' }]
  await writeFile(join(folder, 'manifest.json'), JSON.stringify({ ...manifest, files }))
  await expect(readManifest(folder)).rejects.toThrow('manifest.json names ../../etc/passwd.')
})

test('a backup of another format says which one this version reads', async () => {
  const { folder } = await written()
  await writeFile(join(folder, 'manifest.json'), '{"format": 2}')
  await expect(readManifest(folder)).rejects.toThrow(`${folder} has format 2, but this version reads format 1.`)
})

test('a stopped backup leaves nothing after it was discarded', async () => {
  const folder = join(root, 'stopped/here')
  const stopping = new AbortController()
  const backup = await createBackup(folder, stopping.signal)
  stopping.abort(new Error('Stopped.'))
  await expect(backup.add('a', chunks('one'))).rejects.toThrow('Stopped.')
  await expect(finish(backup)).rejects.toThrow('Stopped.')
  await backup.discard()
  expect(await readdir(join(root, 'stopped'))).toEqual([])
})

test('a full disk rejects and leaves room after the backup was discarded', async ({ skip }) => {
  const disk = join(root, 'disk')
  const unmount = mount(disk)
  if (!unmount) return skip('needs the right to mount a small disk (run as root on Linux).')
  try {
    const backup = await createBackup(join(disk, 'full'), never)
    const mebibyte = 'x'.repeat(1024 ** 2)
    await expect(backup.add('large', chunks(...Array<string>(3).fill(mebibyte)))).rejects.toThrow('ENOSPC')
    await backup.discard()
    expect(await readdir(disk)).toEqual([])
  } finally {
    unmount()
  }
})

function mount(folder: string): (() => void) | undefined {
  try {
    return mountSmallDisk(folder, 2)
  } catch (error) {
    if (error instanceof NoSmallDiskError) return undefined
    throw error
  }
}
