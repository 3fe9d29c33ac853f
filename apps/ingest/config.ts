import { z } from 'zod'
import { Secret } from '#core/secret'
import { questdbVariables } from '#questdb/server/servers'
import { redisVariables } from '#redis/address'
import { kafkaVariables } from '#telemetry-log/kafka/kafka-settings'

const mebibyte = 1024 * 1024

const proxyHops = z.coerce.number().int().min(0).max(10)

/** The environment variables of ingest. */
export const configSchema = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8081),
  POSTGRES_URL: z.string(),
  POSTGRES_MAX_CONNECTIONS: z.coerce.number().int().min(2).default(8),
  /** Shares the limit of failed authentications with the other copies of ingest. */
  ...redisVariables,
  ...questdbVariables,
  /** The master secret of the control plane. Decrypts profile secrets when they are delivered to a device. */
  CONFIG_SECRETS_KEY: z
    .string()
    .min(32, 'must be the value of the control plane')
    .transform((text) => new Secret(text)),
  CONFIG_SECRETS_KEY_PREVIOUS: z
    .string()
    .transform((text) => new Secret(text))
    .optional(),
  ...kafkaVariables,
  LOG_DIR: z.string().default('.data/telemetry-log').meta({
    description:
      'The folder of the durable log: accepted telemetry that QuestDB has not stored yet. Each ingest process needs its own.',
    setByStart: true,
  }),
  LOG_BUDGET_BYTES: z.coerce
    .number()
    .int()
    .min(mebibyte)
    .optional()
    .describe(
      'The maximum size of the log folder, without the states of devices (`*.states`). Default: 10 GiB or half the free disk space, whichever is less.',
    ),
  LOG_PARTITIONS: z.coerce
    .number()
    .int()
    .min(1)
    .max(64)
    .optional()
    .describe(
      'The partitions of the log, each with its own writer thread. They can be changed only when everything is stored, see [operations](operations.md#change-the-number-of-partitions). Default: the number that the log has; for a new log, half of the cores, 1 to 8.',
    ),
  DEVICE_REQUESTS_PER_MINUTE: z.coerce.number().int().min(1).default(120).describe('The rate limit of each device.'),
  DEVICE_REQUEST_BURST: z.coerce
    .number()
    .int()
    .min(1)
    .default(240)
    .describe('The requests that a device may send at once after a pause.'),
  /** Number of proxies in front of the control plane that append to X-Forwarded-For. */
  TRUSTED_PROXY_HOPS: proxyHops.default(0),
  INGEST_PROXY_HOPS: proxyHops
    .optional()
    .describe(
      'The number of proxies in front of ingest, including the control plane. Default: `TRUSTED_PROXY_HOPS` + 1.',
    ),
  /** A file with plans. Its longest history determines the maximum age of a sample. */
  PLANS_FILE: z.string().optional(),
  /** The base address of an OpenTelemetry collector, to which traces are sent. Default: no traces. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
})

/** Why segment files cannot feed several servers. */
export const segmentFilesNeedOneServer =
  'segment files are read once, for one server; only with Kafka does each server get every report: set KAFKA_BROKERS, or name one server'

export type IngestConfig = z.infer<typeof configSchema>

/** Returns the number of proxies in front of ingest, including the control plane. */
export const proxyHopsOf = (config: Pick<IngestConfig, 'INGEST_PROXY_HOPS' | 'TRUSTED_PROXY_HOPS'>): number =>
  config.INGEST_PROXY_HOPS ?? config.TRUSTED_PROXY_HOPS + 1
