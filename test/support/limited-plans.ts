import { mkdtemp, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type LimitName, limitNames } from '#fleet/organizations/limit-table'

/** Writes a plans file with a further plan: `enterprise` with these limits. Returns its path, for PLANS_FILE. */
export async function plansFileWith(plans: Record<string, Partial<Record<LimitName, number>>>): Promise<string> {
  const shipped = new URL('../../libs/fleet/organizations/plans.json', import.meta.url)
  const known = JSON.parse(await readFile(shipped, 'utf8'))
  const added = Object.fromEntries(
    Object.entries(plans).map(([name, limits]) => [name, { ...known.enterprise, limits }]),
  )
  const path = join(await mkdtemp(join(tmpdir(), 'plans-')), 'plans.json')
  await writeFile(path, JSON.stringify({ ...known, ...added }))
  return path
}

/** The same number for every limit. */
export const allLimits = (most: number) =>
  Object.fromEntries(limitNames.map((name) => [name, most])) as Record<LimitName, number>
