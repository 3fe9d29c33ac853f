import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import { isCode, replaceFile } from '#files/durable-file'
import { ensureAccess } from '#fleet/access/bootstrap'
import { openPool } from '#postgres/pool'
import type { DataFolder } from './data-folder.ts'

const accessSchema = z.object({
  baseUrl: z.string(),
  /** A platform administrator's API key. */
  adminKey: z.string(),
  /** An operator's key for the demo organization; null without a demo. */
  demoKey: z.string().nullable(),
  demoOrganizationId: z.string().nullable(),
})

/** The content of `access.json`. The database stores only hashes, so only this file has the keys in plain text. */
export type AccessFile = z.infer<typeof accessSchema>

/** Returns the keys of `access.json` if they are valid, otherwise new keys. Writes the file. */
export async function grantAccess(grant: {
  databases: { POSTGRES_URL: string }
  demo: boolean
  baseUrl: string
  folder: DataFolder
}): Promise<{ access: AccessFile; demoEnrollmentKey: string | null }> {
  const pool = openPool(grant.databases.POSTGRES_URL, { applicationName: 'stack', maxConnections: 1 })
  try {
    const existing = await readAccess(grant.folder.accessFile)
    const { demoEnrollmentKey, ...keys } = await ensureAccess({ pool }, { demo: grant.demo, existing })
    const access: AccessFile = { baseUrl: grant.baseUrl, ...keys }
    await replaceFile(grant.folder.accessFile, `${JSON.stringify(access, undefined, 2)}\n`)
    return { access, demoEnrollmentKey }
  } finally {
    await pool.end()
  }
}

/** Reads `access.json` of a running installation. Throws an error with one sentence if there is none. */
export async function readAccessFile(path: string): Promise<AccessFile> {
  const access = accessSchema.safeParse(await readAccess(path))
  if (!access.success) throw new Error(`${path} does not exist or is damaged. Run npm start, or choose --data-dir.`)
  return access.data
}

/**
 * Returns an empty object if the file is missing or damaged, so that new keys are issued: the database has only hashes of the
 * old ones. Throws if the file cannot be read.
 */
async function readAccess(path: string) {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isCode(error, 'ENOENT')) return ''
    throw new Error(`The keys in ${path} cannot be read: ${error instanceof Error ? error.message : error}.`)
  })
  try {
    return accessSchema.partial().parse(JSON.parse(text))
  } catch {
    return {}
  }
}
