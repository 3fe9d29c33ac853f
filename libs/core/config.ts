import { z } from 'zod'

/**
 * Parses the environment variables of an app, once, at its entry point. Empty strings count as absent, so that
 * `VAR= npm start` uses the default. Throws an error with one sentence per invalid variable.
 */
export function parseConfig<Schema extends z.ZodType>(
  schema: Schema,
  environment: Record<string, string | undefined>,
): z.infer<Schema> {
  const present = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const parsed = schema.safeParse(present)
  if (parsed.success) return parsed.data
  const sentences = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)
  throw new Error(`Invalid configuration. ${sentences.join('; ')}`)
}

/** Returns a schema for addresses separated by commas. Its output is an array with at least one address. */
export const urlList = () =>
  z
    .string()
    .transform((text) => text.split(',').map((address) => address.trim()))
    .pipe(z.array(z.url('must be addresses, separated by commas')))

/** Returns a schema for IP networks such as `10.0.0.0/8`, separated by commas. */
export const networkList = () =>
  z
    .string()
    .transform((text) => text.split(',').map((network) => network.trim()))
    .pipe(z.array(z.union([z.cidrv4(), z.cidrv6()], 'must be networks such as 10.0.0.0/8, separated by commas')))
