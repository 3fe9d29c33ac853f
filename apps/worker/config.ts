import { z } from 'zod'
import { Secret } from '#core/secret'

/** Everything the worker reads from its environment. */
export const configSchema = z.object({
  POSTGRES_URL: z.string().min(1),
  /** Absent: BullMQ's Postgres backend, in the database above. */
  REDIS_URL: z.string().min(1).optional(),
  /** Where deleted devices' telemetry is erased. */
  QUESTDB_PG_URL: z.string().min(1),
  QUESTDB_USER: z.string().default('admin'),
  QUESTDB_PASSWORD: z
    .string()
    .default('quest')
    .transform((text) => new Secret(text)),
  /** The master secret and its predecessor; they open the signing secrets of webhooks. */
  CONFIG_SECRETS_KEY: z
    .string()
    .min(32)
    .transform((text) => new Secret(text)),
  CONFIG_SECRETS_KEY_PREVIOUS: z
    .string()
    .transform((text) => new Secret(text))
    .optional(),
  /** The hour in which deleted devices' telemetry is erased from storage. */
  ERASURE_HOUR_UTC: z.coerce.number().int().min(0).max(23).default(3),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8082),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** How many jobs of one organization wait in the dispatch queue at most; the rest wait in Postgres. */
  DISPATCH_QUEUE_CAP: z.coerce.number().int().min(1).default(100_000),
  /** How many jobs are dispatched side by side; they share transactions. */
  DISPATCH_CONCURRENCY: z.coerce.number().int().min(1).default(500),
})

export type WorkerConfig = z.infer<typeof configSchema>

/** What the command `erase-now.ts` reads. */
export const erasureSchema = configSchema.pick({
  POSTGRES_URL: true,
  QUESTDB_PG_URL: true,
  QUESTDB_USER: true,
  QUESTDB_PASSWORD: true,
})
