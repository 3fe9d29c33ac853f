import type { z } from 'zod'

/**
 * Parses an app's environment once, at its entry point. Throws one sentence per wrong variable, naming it;
 * empty strings count as absent so that `VAR= npm start` means the default.
 */
export function parseConfig<Schema extends z.ZodType>(
  schema: Schema,
  environment: Record<string, string | undefined>,
): z.infer<Schema> {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const parsed = schema.safeParse(present)
  if (parsed.success) return parsed.data
  const sentences = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  throw new Error(`Configuration is wrong. ${sentences.join('; ')}`)
}
