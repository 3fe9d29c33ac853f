import { z } from 'zod'
import { type Action, rejected, succeeded } from './action.ts'

const profile = z.object({
  id: z.string().min(1),
  version: z.number().int().positive(),
  settings: z
    .record(z.string(), z.unknown())
    .refine((settings) => Object.keys(settings).length > 0, 'the settings are empty'),
  /** RFC 6901 pointers of the secret values. Older services do not send them. */
  secrets: z.array(z.string()).optional(),
  /** The digest of the settings without the secret values. Older services do not send it. */
  digest: z.string().optional(),
})

/**
 * Validates the profile version of the job and writes it to `<folder>/config.json`, where the router's services read it
 * (mode 0600, because it contains secrets). Rejects a profile without a version or settings, because the router would lose
 * the config that it has. The job has succeeded when the service was reached with the new config.
 */
export const applyConfig: Action = async (job, { trial }) => {
  const parsed = z.object({ profile }).safeParse(job.parameters)
  if (!parsed.success) return rejected(`Invalid profile: ${parsed.error.issues[0]?.message ?? 'not readable'}.`)
  const { settings, ...applied } = parsed.data.profile
  await trial.begin(job, applied, settings)
  return succeeded(`Version ${applied.version} applied.`)
}
