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
 * Validates the profile version of the job and writes it to `<folder>/config.json`, where the router's services read it
 * (mode 0600, because it contains secrets). Replaces the file atomically.
 */
export const applyConfig: Action = async (job, { folder, state }) => {
  const parsed = z.object({ profile }).safeParse(job.parameters)
  if (!parsed.success) return failed(`Invalid profile: ${parsed.error.issues[0]?.message ?? 'not readable'}.`)
  const { id, version, settings } = parsed.data.profile
  const file = join(folder, 'config.json')
  await writeFile(`${file}.part`, JSON.stringify({ id, version, settings }), { mode: 0o600, flush: true })
  await rename(`${file}.part`, file)
  await state.update({ profile: { id, version } })
  return succeeded(`Version ${version} applied.`)
}
