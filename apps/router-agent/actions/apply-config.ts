import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { type Action, failed, succeeded } from './action.ts'

const profile = z.object({
  id: z.string(),
  version: z.number().int().positive(),
  settings: z.record(z.string(), z.unknown()),
})

/**
 * Takes the profile version the job is pinned to, checks that it is one, and puts it where the router's services read
 * it: `<folder>/config.json`, mode 0600 because it holds secrets. The file changes in one step or not at all.
 */
export const applyConfig: Action = async (job, { folder, state }) => {
  const offered = z.object({ profile }).safeParse(job.parameters)
  if (!offered.success)
    return failed(`The profile cannot be used: ${offered.error.issues[0]?.message ?? 'unreadable'}.`)
  const { id, version, settings } = offered.data.profile
  const file = join(folder, 'config.json')
  await writeFile(`${file}.part`, JSON.stringify({ id, version, settings }), { mode: 0o600, flush: true })
  await rename(`${file}.part`, file)
  await state.update({ profile: { id, version } })
  return succeeded(`Version ${version} applied.`)
}
