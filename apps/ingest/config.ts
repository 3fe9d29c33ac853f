import { z } from 'zod'
import { Secret } from '#core/secret'

const mebibyte = 1024 * 1024

const proxyHops = z.coerce.number().int().min(0).max(10)

/** Everything ingest reads from its environment. */
export const configSchema = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8081),
  POSTGRES_URL: z.string(),
  POSTGRES_MAX_CONNECTIONS: z.coerce.number().int().min(2).default(4),
  QUESTDB_URL: z.url(),
  QUESTDB_PG_URL: z.string(),
  QUESTDB_USER: z.string().default('admin'),
  QUESTDB_PASSWORD: z
    .string()
    .default('quest')
    .transform((text) => new Secret(text)),
  /** Master secret, the control plane's: opens profile secrets at the moment they are handed to their device. */
  CONFIG_SECRETS_KEY: z
    .string()
    .min(32, 'the same as the control plane has')
    .transform((text) => new Secret(text)),
  CONFIG_SECRETS_KEY_PREVIOUS: z
    .string()
    .transform((text) => new Secret(text))
    .optional(),
  /** Where accepted telemetry is kept until it is stored. Loss of this folder loses what was not. */
  LOG_DIR: z.string().default('.data/telemetry-log'),
  /** How many bytes all files of the log may take. Default: 10 GiB, or half the free disk when that is less. */
  LOG_BUDGET_BYTES: z.coerce.number().int().min(mebibyte).optional(),
  /** Requests a device may send in a minute, and at once after being quiet. */
  DEVICE_REQUESTS_PER_MINUTE: z.coerce.number().int().min(1).default(120),
  DEVICE_REQUEST_BURST: z.coerce.number().int().min(1).default(240),
  /** How many proxies in front of the control plane append to X-Forwarded-For; the control plane's own setting. */
  TRUSTED_PROXY_HOPS: proxyHops.default(0),
  /** The same for ingest. Default: those of the control plane, and the control plane itself. */
  INGEST_PROXY_HOPS: proxyHops.optional(),
  /** A plans file instead of the shipped one: its longest history decides how old a sample may be. */
  PLANS_FILE: z.string().optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
})

export type Config = z.infer<typeof configSchema>

/** How many proxies in front of ingest append to X-Forwarded-For, the control plane included. */
export const proxyHopsOf = (config: Pick<Config, 'INGEST_PROXY_HOPS' | 'TRUSTED_PROXY_HOPS'>): number =>
  config.INGEST_PROXY_HOPS ?? config.TRUSTED_PROXY_HOPS + 1
