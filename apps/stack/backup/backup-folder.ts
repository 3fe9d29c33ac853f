import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, mkdir, open, readFile, rename, rm } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { z } from 'zod'
import { isCode, replaceFile, sync } from '#files/durable-file'

const manifestName = 'manifest.json'
const formatVersion = 1

const manifestSchema = z.object({
  format: z.literal(formatVersion),
  /** Everything that was accepted before this time is in the backup. RFC 3339. */
  startedAt: z.iso.datetime(),
  /** The version of QuestDB, for example 9.3.4. */
  questdbVersion: z.string(),
  /** False if the log is on Kafka. */
  hasTelemetryLog: z.boolean(),
  /** The migrations of the database, in order. */
  migrations: z.array(z.string()),
  /** In the order in which rows can be inserted. */
  tables: z.array(z.object({ name: z.string(), columns: z.array(z.string()) })),
  files: z.array(z.object({ path: z.string(), bytes: z.number(), sha256: z.string() })),
})

/** What a backup contains. Paths are relative to its folder, with slashes. */
export type Manifest = z.infer<typeof manifestSchema>

type BackupFile = Manifest['files'][number]

/** A backup that is being written. */
export type BackupWriter = {
  /** Adds a file. Throws if the disk is full or `signal` aborts. */
  add(path: string, content: AsyncIterable<Buffer>): Promise<void>
  /** Writes the manifest and gives the folder its name. */
  finish(manifest: Omit<Manifest, 'format' | 'files'>): Promise<Manifest>
  /** Deletes everything that was written. */
  discard(): Promise<void>
}

/**
 * Starts a backup in `folder`, which must not exist. Until it is complete, the folder is named `<folder>.incomplete` and has
 * no manifest.
 */
export async function createBackup(folder: string, signal: AbortSignal): Promise<BackupWriter> {
  const incomplete = `${folder}.incomplete`
  if (await exists(folder)) throw new Error(`${folder} exists: choose a folder that does not exist.`)
  await mkdir(dirname(folder), { recursive: true })
  await mkdir(incomplete, { mode: 0o700 }).catch((error: unknown) => {
    if (!isCode(error, 'EEXIST')) throw error
    throw new Error(
      `${incomplete} exists: another backup writes to it or was interrupted. Delete it or choose another folder.`,
    )
  })
  const files: BackupFile[] = []
  return {
    async add(path, content) {
      files.push({ path, ...(await writeHashed(join(incomplete, path), content, signal)) })
    },
    async finish(content) {
      signal.throwIfAborted()
      const manifest: Manifest = { format: formatVersion, ...content, files }
      await replaceFile(join(incomplete, manifestName), `${JSON.stringify(manifest)}\n`)
      for (const name of foldersOf(files.map(({ path }) => path))) await sync(join(incomplete, name))
      await rename(incomplete, folder)
      await sync(dirname(folder))
      return manifest
    },
    discard: () => rm(incomplete, { recursive: true, force: true }),
  }
}

/** Returns the folders of relative paths. The root is `.`. */
export function foldersOf(paths: readonly string[]): Set<string> {
  const folders = new Set<string>()
  for (const path of paths) {
    for (let folder = dirname(path); !folders.has(folder); folder = dirname(folder)) folders.add(folder)
  }
  return folders
}

async function writeHashed(path: string, content: AsyncIterable<Buffer>, signal: AbortSignal) {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(path, 'wx', 0o600)
  const hash = createHash('sha256')
  let bytes = 0
  try {
    for await (const chunk of content) {
      signal.throwIfAborted()
      hash.update(chunk)
      await file.writeFile(chunk)
      bytes += chunk.length
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return { bytes, sha256: hash.digest('hex') }
}

/** Returns the manifest of a complete backup. Throws an error with one sentence for anything else. */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, manifestName), 'utf8').catch((error: unknown) => {
    if (!isCode(error, 'ENOENT', 'ENOTDIR')) throw error
    throw new Error(`${folder} is not a complete backup: it has no ${manifestName}.`)
  })
  const content = parseJson(text)
  const format = z.object({ format: z.number() }).safeParse(content)
  if (format.success && format.data.format !== formatVersion)
    throw new Error(`${folder} has format ${format.data.format}, but this version reads format ${formatVersion}.`)
  const manifest = manifestSchema.safeParse(content)
  if (!manifest.success) throw new Error(`${folder} is damaged: ${manifestName} cannot be read.`)
  const outside = manifest.data.files.find(({ path }) => !isInside(folder, join(folder, path)))
  if (outside) throw new Error(`${folder} is damaged: ${manifestName} names ${outside.path}.`)
  return manifest.data
}

/** Throws an error that names the first file of the backup that is missing or was changed. */
export async function verifyBackup(folder: string, { files }: Manifest, signal: AbortSignal): Promise<void> {
  for (const file of files) {
    const hash = createHash('sha256')
    try {
      for await (const chunk of createReadStream(join(folder, file.path), { signal })) hash.update(chunk)
    } catch (error) {
      if (!isCode(error, 'ENOENT')) throw error
      throw new Error(`${folder} is damaged: ${file.path} is missing.`)
    }
    if (hash.digest('hex') !== file.sha256) throw new Error(`${folder} is damaged: ${file.path} was changed.`)
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isInside = (folder: string, path: string): boolean => {
  const inner = relative(resolve(folder), resolve(path))
  return inner !== '' && inner !== '..' && !inner.startsWith(`..${sep}`)
}

/** Returns whether a file or folder exists. */
export const exists = (path: string): Promise<boolean> =>
  lstat(path).then(
    () => true,
    (error: unknown) => {
      if (isCode(error, 'ENOENT')) return false
      throw error
    },
  )
