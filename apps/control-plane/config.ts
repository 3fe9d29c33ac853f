import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { networkList, urlList } from '#core/config'
import { Secret } from '#core/secret'
import { questdbVariables } from '#questdb/server/servers'
import { redisVariables } from '#redis/address'
import { mapVariables } from './http/map-background.ts'
import { groupRolesSchema } from './sign-in/granted-access.ts'

const optionalUrl = z.url().optional()

function parsedJson(text: string, check: z.RefinementCtx): unknown {
  try {
    return JSON.parse(text)
  } catch {
    check.addIssue({ code: 'custom', message: 'must be JSON' })
    return z.NEVER
  }
}

/** Everything the control plane reads from its environment. */
export const configSchema = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(8080),
  /** Several control planes on one machine listen on PORT, and the kernel divides connections between them. Linux only. */
  PORT_SHARED: z.stringbool().default(false),
  /** A port on the loopback address with the health and the metrics of this process alone. */
  HEALTH_PORT: z.coerce.number().int().min(1).max(65_535).optional(),
  /** The addresses of the health ports of all copies of the control plane, separated by commas, for their metrics. */
  CONTROL_PLANE_URL: urlList().optional(),
  /** The address callers use; issuer and audience of access tokens. Default: the address it listens on. */
  PUBLIC_BASE_URL: optionalUrl,
  POSTGRES_URL: z.string(),
  POSTGRES_MAX_CONNECTIONS: z.coerce.number().int().min(2).default(16),
  ...questdbVariables,
  ...redisVariables,
  /** The addresses of all copies of ingest, separated by commas. */
  INGEST_URL: urlList(),
  /** The health and metrics addresses of the workers and of the writers, separated by commas. Optional. */
  WORKER_URL: urlList().optional(),
  WRITER_URL: urlList().optional(),
  /** Master secret: wraps profile secrets' keys, signs access tokens and cursors. */
  CONFIG_SECRETS_KEY: z
    .string()
    .min(32, 'at least 32 characters, for example from `openssl rand -base64 32`')
    .transform((text) => new Secret(text)),
  /** The master secret before the present one, until `rotate-secrets-key.ts` has run. */
  CONFIG_SECRETS_KEY_PREVIOUS: z
    .string()
    .transform((text) => new Secret(text))
    .optional(),
  ROUTER_MODEL_SEGMENT: z
    .string()
    .regex(/^[A-Za-z0-9_-]+$/)
    .default('router'),
  /** A plans file instead of the shipped one. */
  PLANS_FILE: z.string().optional(),
  OIDC_ISSUER: optionalUrl,
  OIDC_AUDIENCE: z.string().optional(),
  OIDC_JWKS_URL: optionalUrl,
  OIDC_ORGANIZATIONS_CLAIM: z.string().default('orgs'),
  /** The client that signs people in to the page; without it, the provider's tokens are accepted but the page does not use it. */
  OIDC_CLIENT_ID: z.string().min(1).optional(),
  /** Without a secret, the client is a public one and is protected by PKCE alone. */
  OIDC_CLIENT_SECRET: z
    .string()
    .min(1)
    .transform((text) => new Secret(text))
    .optional(),
  /** How the client sends its secret: as it is registered at the provider. */
  OIDC_CLIENT_AUTHENTICATION: z.enum(['client_secret_basic', 'client_secret_post']).default('client_secret_basic'),
  OIDC_SCOPE: z.string().default('openid profile email'),
  /** What the button on the page says after "Sign in with". */
  OIDC_PROVIDER_NAME: z.string().min(1).max(40).default('single sign-on'),
  /** Whether a person who signs out of the page also signs out at the provider. */
  OIDC_SIGN_OUT: z.stringbool().default(false),
  OIDC_GROUPS_CLAIM: z.string().default('groups'),
  /** What the members of a group may do, as JSON. */
  OIDC_GROUP_ROLES: z.string().default('{}').transform(parsedJson).pipe(groupRolesSchema),
  /** How long a person stays signed in to the page. */
  SESSION_LIFETIME_HOURS: z.coerce.number().min(0.1).max(720).default(12),
  /** Number of trusted proxies that append to X-Forwarded-For; 0 ignores the header. */
  TRUSTED_PROXY_HOPS: z.coerce.number().int().min(0).max(10).default(0),
  /** Private networks in which receivers of webhooks may be. Default: none, only the public Internet. */
  WEBHOOK_PRIVATE_NETWORKS: networkList().default([]),
  /** The built fleet map page, served at `/`. */
  FLEET_MAP_FOLDER: z.string().default(fileURLToPath(new URL('../fleet-map/dist', import.meta.url))),
  ...mapVariables,
  /** The base address of an OpenTelemetry collector, to which traces are sent. Default: no traces. */
  OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent']).default('info'),
})

export type Config = z.infer<typeof configSchema>

/** What the command `rotate-secrets-key.ts` reads. */
export const rotationSchema = configSchema
  .pick({ POSTGRES_URL: true, CONFIG_SECRETS_KEY: true, CONFIG_SECRETS_KEY_PREVIOUS: true })
  .required({ CONFIG_SECRETS_KEY_PREVIOUS: true })
