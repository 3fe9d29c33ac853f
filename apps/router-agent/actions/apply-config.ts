import { join } from 'node:path'
import { z } from 'zod'
import { replaceFile } from '#files/durable-file'
import { type Action, rejected, succeeded } from './action.ts'

const profile = z.object({
  id: z.string().min(1),
  version: z.number().int().positive(),
  settings: z
    .record(z.string(), z.unknown())
    .refine((settings) => Object.keys(settings).length > 0, 'the settings are empty'),
})

/**
 * Validates the profile version of the job and writes it to `<folder>/config.json`, where the router's services read it
 * (mode 0600, because it contains secrets). Replaces the file atomically. Rejects a profile without a version or settings,
 * because the router would lose the config that it has.
 */
export const applyConfig: Action = async (job, { folder, state }) => {
  const parsed = z.object({ profile }).safeParse(job.parameters)
  if (!parsed.success) return rejected(`Invalid profile: ${parsed.error.issues[0]?.message ?? 'not readable'}.`)
  const { id, version, settings } = parsed.data.profile
  await replaceFile(join(folder, 'config.json'), JSON.stringify({ id, version, settings }))
  await state.update({ profile: { id, version } })
  return succeeded(`Version ${version} applied.`)
}
