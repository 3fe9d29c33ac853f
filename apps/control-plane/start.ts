import { hkdfSync } from 'node:crypto'
import { Counter, type Registry } from 'prom-client'
import { setAddressOfPage } from '#alerts/addresses/links'
import { setPageOfChannels } from '#alerts/chat/channel'
import type { Clock } from '#core/clock'
import { reachableAddresses } from '#core/public-address'
import { createAccessTokens } from '#fleet/access/access-tokens'
import { createIdentityProvider } from '#fleet/access/identity-provider'
import { createKeyring } from '#fleet/crypto/keyring'
import { accessChangedChannel } from '#fleet/notices'
import { loadPlans, type Plans } from '#fleet/organizations/plans'
import { createCursors } from '#http/cursor'
import { httpReadiness, sharedCheck } from '#http/health'
import { createHttpMetrics } from '#http/metrics'
import { openTracing } from '#http/open-tracing'
import { createRateLimiter } from '#http/rate-limit'
import { openRateLimitStore } from '#http/rate-limit-store'
import { createLogger, type Logger } from '#http/request-log'
import { followDatabaseClock } from '#postgres/clock'
import { createFairPool, type FairPool } from '#postgres/fair-pool'
import { listen } from '#postgres/listen'
import { openPool, type Pool } from '#postgres/pool'
import { createReaders } from '#questdb/copies/readers'
import { questdbServers } from '#questdb/server/servers'
import type { ControlPlaneConfig } from './config.ts'
import { createImportLine } from './devices/import-line.ts'
import { createFleetMaps } from './fleet-maps.ts'
import { createAuthenticator } from './http/authentication.ts'
import { createBodies } from './http/bodies.ts'
import { createDeviceAdmission } from './http/device-admission.ts'
import { createKeyDirectory } from './http/key-directory.ts'
import { createLastUses } from './http/last-uses.ts'
import { mapEnvironment } from './http/map-background.ts'
import { createMapBackgrounds } from './http/map-backgrounds.ts'
import { createDeviceEdge } from './http/proxy.ts'
import { createSessionCookie } from './http/session-cookie.ts'
import { openReadCopies, questdbConnections, questdbReadiness } from './questdb.ts'
import type { AppCopies } from './routes/service/collect-metrics.ts'
import type { Services } from './services.ts'
import { createSignInAttempts } from './sign-in/attempts.ts'
import { followMailLinks } from './sign-in/mail-links.ts'
import { createSignInProvider } from './sign-in/provider.ts'
import { startSessionChecks } from './sign-in/session-checks.ts'
import { createTokenSeal } from './sign-in/token-seal.ts'

type OpenServices = { services: Services; close: () => Promise<void> }

/** Opens all resources of the routes. Returns them with a function that closes them. */
export async function openServices(config: ControlPlaneConfig): Promise<OpenServices> {
  const plans = await loadPlans(config.PLANS_FILE)
  const environment = await mapEnvironment(config)
  const pool = openPool(config.POSTGRES_URL, {
    applicationName: 'control-plane',
    maxConnections: config.POSTGRES_MAX_CONNECTIONS,
    keepOpen: config.POSTGRES_MAX_CONNECTIONS,
  })
  const pools = createFairPool(pool, config.POSTGRES_MAX_CONNECTIONS)
  const background = pools.internal('background')
  const databaseClock = followDatabaseClock(background)
  await databaseClock.measured
  const { clock } = databaseClock
  const baseUrl = config.PUBLIC_BASE_URL ?? `http://${config.HOST}:${config.PORT}`
  const metrics = createHttpMetrics()
  const { registry } = metrics
  const authentication = await openAuthentication({ config, pools, plans, clock, registry, baseUrl })
  await setAddressOfPage(pool, baseUrl)
  await setPageOfChannels(pool, baseUrl)
  const redis = config.REDIS_URL ? openRateLimitStore(config.REDIS_URL) : undefined
  const logger = createLogger('control-plane', config.LOG_LEVEL)
  const servers = questdbServers(config)
  const copies = await openReadCopies({ servers, pool: background, registry, logger })
  const readers = createReaders(copies, questdbConnections)
  const fleetMaps = createFleetMaps({ pools, readers, clock, logger })
  const deviceEdge = createDeviceEdge(config.INGEST_URL)
  const { tracing, stop: stopTracing } = await openTracing('control-plane', config.OTEL_EXPORTER_OTLP_ENDPOINT)
  const otherApps = otherAppsOf(config)

  const signIn = openSignIn({ config, pool, plans, logger, baseUrl, clock })
  const services: Services = {
    pools,
    pool: background,
    copies,
    readers,
    fleetMaps,
    mapBackgrounds: createMapBackgrounds({ environment, db: background, clock, logger }),
    clock,
    plans,
    logger,
    metrics,
    cursors: cursorsOf(config),
    keyring: createKeyring(config.CONFIG_SECRETS_KEY, config.CONFIG_SECRETS_KEY_PREVIOUS),
    ...authentication.services,
    sessionCookie: createSessionCookie(baseUrl),
    sessionLifetimeMs: config.SESSION_LIFETIME_HOURS * 3_600_000,
    ...signIn.services,
    requestLimiter: createRateLimiter('requests', redis),
    failedAuthenticationLimiter: createRateLimiter('failed-authentication', redis),
    signInLimiter: createRateLimiter('sign-in', redis),
    deviceEdge,
    deviceAdmission: createDeviceAdmission(deviceEdge),
    bodies: createBodies(registry),
    importLine: createImportLine(),
    begunRequests: new Set(),
    readinessChecks: [
      { name: 'postgres', check: async () => void (await pools.internal('readiness').query('SELECT 1')) },
      questdbReadiness(servers, copies),
      ...otherApps.map(({ app, baseUrls }) => httpReadiness(app, baseUrls)),
    ].map((check) => sharedCheck(check)),
    otherApps,
    controlPlaneUrls: config.CONTROL_PLANE_URL ?? [],
    routerModelSegment: config.ROUTER_MODEL_SEGMENT,
    trustedProxyHops: config.TRUSTED_PROXY_HOPS,
    webhookAddresses: reachableAddresses(config.WEBHOOK_PRIVATE_NETWORKS),
    tracing,
    publicBaseUrl: baseUrl,
  }
  const close = async () => {
    await Promise.all([authentication.stop(), databaseClock.stop(), signIn.stop()])
    fleetMaps.live.close()
    await deviceEdge.close()
    redis?.disconnect()
    await authentication.services.lastUses.close()
    await copies.close()
    await pool.end()
    await stopTracing()
  }
  return { services, close }
}

const cursorsOf = ({ CONFIG_SECRETS_KEY: key }: ControlPlaneConfig) =>
  createCursors(Buffer.from(hkdfSync('sha256', key.reveal(), '', 'routerfleet cursors', 32)))

const otherAppsOf = (config: ControlPlaneConfig): AppCopies[] =>
  [
    { app: 'ingest', baseUrls: config.INGEST_URL },
    { app: 'worker', baseUrls: config.WORKER_URL ?? [] },
    { app: 'writer', baseUrls: config.WRITER_URL ?? [] },
  ].filter(({ baseUrls }) => baseUrls.length > 0)

/** Opens what tells who calls, and forgets keys when notices say that they changed. */
async function openAuthentication(parts: {
  config: ControlPlaneConfig
  pools: FairPool
  plans: Plans
  clock: Clock
  registry: Registry
  baseUrl: string
}) {
  const { config, pools, plans, clock, registry, baseUrl } = parts
  const db = pools.internal('authentication')
  const accessTokens = await createAccessTokens(config.CONFIG_SECRETS_KEY, baseUrl)
  const keys = createKeyDirectory({ db, plans, clock, registry })
  const lastUses = createLastUses(pools.internal('background'), clock)
  const provider = providerOf(config, registry)
  const authenticator = createAuthenticator({ db, lastUses, plans, clock, keys, tokens: accessTokens, provider })
  const listening = listen(config.POSTGRES_URL, [
    {
      channel: accessChangedChannel,
      onNotice: (keyId) => authenticator.forget(keyId === '' ? undefined : keyId),
      onGap: () => authenticator.forget(),
    },
  ])
  await listening.connected
  return { services: { accessTokens, keys, lastUses, authenticator }, stop: listening.stop }
}

/** Opens the sign-in at an identity provider, and checks its sessions, if one is configured. */
function openSignIn(parts: {
  config: ControlPlaneConfig
  pool: Pool
  plans: Plans
  logger: Logger
  baseUrl: string
  clock: Clock
}) {
  const { config, pool, plans, logger, baseUrl, clock } = parts
  const signInProvider = signInProviderOf(config, baseUrl, clock)
  const tokenSeal = createTokenSeal(config.CONFIG_SECRETS_KEY, config.CONFIG_SECRETS_KEY_PREVIOUS)
  const claimNames = {
    organizationsClaim: config.OIDC_ORGANIZATIONS_CLAIM,
    groupsClaim: config.OIDC_GROUPS_CLAIM,
    groupRoles: config.OIDC_GROUP_ROLES,
  }
  const sessionChecks =
    signInProvider && startSessionChecks({ pool, plans, logger, provider: signInProvider, claimNames, seal: tokenSeal })
  const signInAttempts = createSignInAttempts(config.CONFIG_SECRETS_KEY, baseUrl)
  return {
    services: { signInProvider, signInAttempts, tokenSeal, claimNames, sendsLinks: followMailLinks(pool, clock) },
    stop: async () => sessionChecks?.stop(),
  }
}

function signInProviderOf(config: ControlPlaneConfig, baseUrl: string, clock: Clock) {
  if (!config.OIDC_CLIENT_ID) return undefined
  if (!config.OIDC_ISSUER) throw new Error('Invalid configuration. OIDC_ISSUER: required with OIDC_CLIENT_ID')
  return createSignInProvider({
    issuer: config.OIDC_ISSUER,
    clientId: config.OIDC_CLIENT_ID,
    clientSecret: config.OIDC_CLIENT_SECRET,
    clientAuthentication: config.OIDC_CLIENT_AUTHENTICATION,
    scope: config.OIDC_SCOPE,
    name: config.OIDC_PROVIDER_NAME,
    redirectUri: `${baseUrl.replace(/\/$/, '')}/auth/oidc/callback`,
    signsOut: config.OIDC_SIGN_OUT,
    signedOutUri: `${baseUrl.replace(/\/$/, '')}/`,
    roleClaims: [config.OIDC_ORGANIZATIONS_CLAIM, config.OIDC_GROUPS_CLAIM],
    clock,
  })
}

function providerOf(config: ControlPlaneConfig, registry: Registry) {
  if (!config.OIDC_ISSUER || !config.OIDC_AUDIENCE) {
    if (config.OIDC_ISSUER && !config.OIDC_CLIENT_ID)
      throw new Error('Invalid configuration. OIDC_AUDIENCE or OIDC_CLIENT_ID: required with OIDC_ISSUER')
    return undefined
  }
  const requests = new Counter({
    name: 'identity_provider_requests_total',
    help: 'Requests to the identity provider, by outcome; suppressed ones were not sent, since one had just failed.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  const identity = createIdentityProvider({
    observe: (outcome) => requests.inc({ outcome }),
    issuer: config.OIDC_ISSUER,
    audience: config.OIDC_AUDIENCE,
    jwksUrl: config.OIDC_JWKS_URL,
    organizationsClaim: config.OIDC_ORGANIZATIONS_CLAIM,
  })
  return { identity, organizationsClaim: config.OIDC_ORGANIZATIONS_CLAIM }
}
