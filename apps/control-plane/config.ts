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
  HOST: z.string().default('127.0.0.1').meta({ description: 'The address to listen on.', setByStart: true }),
  PORT: z.coerce
    .number()
    .int()
    .min(0)
    .max(65_535)
    .default(8080)
    .meta({ description: 'The port to listen on. 0: a free one.', setByStart: true }),
  PORT_SHARED: z.stringbool().default(false).meta({
    description:
      'Several control planes on one machine listen on `PORT`. The kernel divides connections between them. Linux only.',
    setByStart: true,
  }),
  HEALTH_PORT: z.coerce.number().int().min(1).max(65_535).optional().meta({
    description: 'A port on 127.0.0.1 for `/livez`, `/readyz` and `/metrics` of this process alone. Default: off.',
    setByStart: true,
  }),
  CONTROL_PLANE_URL: urlList().optional().meta({
    description:
      'The addresses of the health ports of all control planes, separated by commas, for `/metrics`. Default: the metrics of this process.',
    setByStart: true,
  }),
  PUBLIC_BASE_URL: optionalUrl.meta({
    description: 'The public address of the API, also the issuer of access tokens. Default: the address it listens on.',
    setByStart: true,
  }),
  POSTGRES_URL: z.string().meta({
    description:
      'The connection string of Postgres 18. It can have [several hosts](operations.md#postgres-with-a-standby). Default with `npm start`: the embedded Postgres.',
    setByStart: true,
  }),
  POSTGRES_MAX_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(2)
    .default(16)
    .describe('The size of the connection pool. Requests of one organization use at most a third of it.'),
  ...questdbVariables,
  ...redisVariables,
  INGEST_URL: urlList().meta({
    description:
      'The addresses of all ingest processes, separated by commas, to which the control plane forwards device requests.',
    setByStart: true,
  }),
  WORKER_URL: urlList().optional().meta({
    description:
      'The addresses of all workers, separated by commas, for their health and metrics. Default: not checked.',
    setByStart: true,
  }),
  WRITER_URL: urlList().optional().meta({
    description:
      'The addresses of all writers, separated by commas, for their health and metrics. Default: not checked.',
    setByStart: true,
  }),
  CONFIG_SECRETS_KEY: z
    .string()
    .min(32, 'at least 32 characters, for example from `openssl rand -base64 32`')
    .transform((text) => new Secret(text))
    .meta({
      description:
        'The master secret, at least 32 characters. It encrypts data keys, and signs access tokens and cursors. Default with `npm start`: generated on the first start, stored in `<data-dir>/secrets`.',
      setByStart: true,
    }),
  CONFIG_SECRETS_KEY_PREVIOUS: z
    .string()
    .transform((text) => new Secret(text))
    .optional()
    .describe('The previous master secret during a rotation.'),
  ROUTER_MODEL_SEGMENT: z
    .string()
    .regex(/^[A-Za-z0-9_-]+$/)
    .default('router')
    .describe('The path segment after `/api`.'),
  PLANS_FILE: z
    .string()
    .optional()
    .describe(
      'A file with the plans: quota, features, history, rate limits and [limits](limits.md). Default: `libs/fleet/organizations/plans.json`.',
    ),
  OIDC_ISSUER: optionalUrl.describe('Accept access tokens of this identity provider. Default: off.'),
  OIDC_AUDIENCE: z
    .string()
    .optional()
    .describe('The audience of access tokens of the identity provider. Default: off.'),
  OIDC_JWKS_URL: optionalUrl.describe('The key set of the identity provider. Default: found by OIDC discovery.'),
  OIDC_ORGANIZATIONS_CLAIM: z
    .string()
    .default('orgs')
    .describe('The claim of a token that lists the scopes for each organization.'),
  OIDC_CLIENT_ID: z
    .string()
    .min(1)
    .optional()
    .describe('The client with which people [sign in](sign-in.md) to the page at `OIDC_ISSUER`. Default: off.'),
  OIDC_CLIENT_SECRET: z
    .string()
    .min(1)
    .transform((text) => new Secret(text))
    .optional()
    .describe('The secret of that client. Default: none, for a public client.'),
  OIDC_CLIENT_AUTHENTICATION: z
    .enum(['client_secret_basic', 'client_secret_post'])
    .default('client_secret_basic')
    .describe(
      'How the client sends its secret: `client_secret_basic` or `client_secret_post`, as it is registered at the provider.',
    ),
  OIDC_SCOPE: z.string().default('openid profile email').describe('The scopes that the sign-in requests.'),
  OIDC_PROVIDER_NAME: z
    .string()
    .min(1)
    .max(40)
    .default('single sign-on')
    .describe('What the button on the page says after "Sign in with".'),
  OIDC_SIGN_OUT: z
    .stringbool()
    .default(false)
    .describe('Whether a person who signs out of the page also [signs out](sign-in.md#sign-out) at the provider.'),
  OIDC_GROUPS_CLAIM: z.string().default('groups').describe('The claim with the groups of a user.'),
  OIDC_GROUP_ROLES: z
    .string()
    .default('{}')
    .transform(parsedJson)
    .pipe(groupRolesSchema)
    .describe('The access of each group, as JSON; see [roles](sign-in.md#roles).'),
  SESSION_LIFETIME_HOURS: z.coerce
    .number()
    .min(0.1)
    .max(720)
    .default(12)
    .describe('How long a person stays signed in to the page.'),
  TRUSTED_PROXY_HOPS: z.coerce
    .number()
    .int()
    .min(0)
    .max(10)
    .default(0)
    .describe(
      'The number of proxies in front of the control plane that append to `X-Forwarded-For`. 0 ignores the header.',
    ),
  WEBHOOK_PRIVATE_NETWORKS: networkList()
    .default([])
    .describe(
      'Private networks in which [webhook receivers](webhooks.md#receivers-in-a-private-network) may be, such as `10.20.0.0/16,fd12::/32`. Default: none, receivers are on the public Internet.',
    ),
  FLEET_MAP_FOLDER: z
    .string()
    .default(fileURLToPath(new URL('../fleet-map/dist', import.meta.url)))
    .describe('The folder of the built web page.'),
  ...mapVariables,
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .url()
    .optional()
    .describe(
      'The address of an OpenTelemetry collector to which [traces](operations.md#traces) are sent over HTTP. Default: no traces.',
    ),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('`debug`, `info`, `warn`, `error` or `silent`; except in the worker also `fatal`.'),
})

export type ControlPlaneConfig = z.infer<typeof configSchema>

/** What the command `rotate-secrets-key.ts` reads. */
export const rotationSchema = configSchema
  .pick({ POSTGRES_URL: true, CONFIG_SECRETS_KEY: true, CONFIG_SECRETS_KEY_PREVIOUS: true })
  .required({ CONFIG_SECRETS_KEY_PREVIOUS: true })
