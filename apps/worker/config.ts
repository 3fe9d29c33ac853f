import { z } from 'zod'
import { networkList } from '#core/config'
import { Secret } from '#core/secret'
import { questdbVariables } from '#questdb/server/servers'
import { redisVariables } from '#redis/address'

/** The worker's environment variables. */
export const configSchema = z.object({
  POSTGRES_URL: z.string().min(1),
  /** Default: BullMQ uses its Postgres backend, in the database above. */
  ...redisVariables,
  /** Where the telemetry of deleted devices is erased: all copies. */
  ...questdbVariables,
  /** The master secret, and the previous one during a rotation. They decrypt the signing secrets of webhooks. */
  CONFIG_SECRETS_KEY: z
    .string()
    .min(32)
    .transform((text) => new Secret(text)),
  CONFIG_SECRETS_KEY_PREVIOUS: z
    .string()
    .transform((text) => new Secret(text))
    .optional(),
  ERASURE_HOUR_UTC: z.coerce
    .number()
    .int()
    .min(0)
    .max(23)
    .default(3)
    .describe('The hour in which the telemetry of deleted devices is erased from storage.'),
  /** Private networks in which receivers of webhooks may be. Default: none, only the public Internet. */
  WEBHOOK_PRIVATE_NETWORKS: networkList().default([]),
  SMTP_URL: z
    .string()
    .regex(/^smtps?:\/\//, 'must begin with smtp:// or smtps://')
    .transform((text) => new Secret(text))
    .optional()
    .describe(
      'The mail server for e-mail about alerts, invitations and sign-in links: `smtps://user:password@host:465`, or `smtp://…:587`. Set it together with `MAIL_FROM`. Default: no e-mail.',
    ),
  MAIL_FROM: z.string().includes('@').optional().describe('The sender of e-mail: an address, or `Name <address>`.'),
  /** Default: the plans that are part of the service. */
  PLANS_FILE: z.string().optional(),
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8082),
  /** The base address of an OpenTelemetry collector, to which traces are sent. Default: no traces. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error', 'silent']).default('info'),
  DISPATCH_QUEUE_CAP: z.coerce
    .number()
    .int()
    .min(1)
    .default(100_000)
    .describe('The most jobs of one organization in the dispatch queue. The others wait in Postgres.'),
  DISPATCH_CONCURRENCY: z.coerce
    .number()
    .int()
    .min(1)
    .default(500)
    .describe('How many jobs are dispatched at a time. They share transactions.'),
})

export type WorkerConfig = z.infer<typeof configSchema>

/** The environment variables of the command `erase-now.ts`. */
export const erasureSchema = configSchema.pick({
  POSTGRES_URL: true,
  QUESTDB_URL: true,
  QUESTDB_PG_URL: true,
  QUESTDB_SERVERS: true,
  QUESTDB_USER: true,
  QUESTDB_PASSWORD: true,
})
