import { z } from 'zod'

/** Everything the worker reads from its environment. */
export const configSchema = z.object({
  POSTGRES_URL: z.string().min(1),
  /** Absent: BullMQ's Postgres backend, in the database above. */
  REDIS_URL: z.string().min(1).optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8082),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** How many jobs of one organization wait in the dispatch queue at most; the rest wait in Postgres. */
  DISPATCH_QUEUE_CAP: z.coerce.number().int().min(1).default(5_000),
  /** How many jobs are dispatched side by side; they share transactions. */
  DISPATCH_CONCURRENCY: z.coerce.number().int().min(1).default(200),
})

export type WorkerConfig = z.infer<typeof configSchema>
