import type { Clock } from '#core/clock'
import type { FairQueue } from '#core/fair-queue'
import type { ReachableAddresses } from '#core/public-address'
import type { Tracing } from '#core/tracing'
import type { AccessTokens } from '#fleet/access/access-tokens'
import type { Keyring } from '#fleet/crypto/keyring'
import type { Plans } from '#fleet/organizations/plans'
import type { Cursors } from '#http/cursor'
import type { ReadinessCheck } from '#http/health'
import type { HttpMetrics } from '#http/metrics'
import type { RateLimiter } from '#http/rate-limit'
import type { Logger } from '#http/request-log'
import type { FairPool } from '#postgres/fair-pool'
import type { Pool } from '#postgres/pool'
import type { Copies } from '#questdb/copies/copies'
import type { Readers } from '#questdb/copies/readers'
import type { FleetMaps } from './fleet-maps.ts'
import type { Authenticator } from './http/authentication.ts'
import type { Bodies } from './http/bodies.ts'
import type { DeviceAdmission } from './http/device-admission.ts'
import type { KeyDirectory } from './http/key-directory.ts'
import type { LastUses } from './http/last-uses.ts'
import type { MapBackgrounds } from './http/map-backgrounds.ts'
import type { DeviceEdge } from './http/proxy.ts'
import type { SessionCookie } from './http/session-cookie.ts'
import type { AppCopies } from './routes/service/collect-metrics.ts'
import type { SignInAttempts } from './sign-in/attempts.ts'
import type { ClaimNames } from './sign-in/granted-access.ts'
import type { SignInProvider } from './sign-in/provider.ts'
import type { TokenSeal } from './sign-in/token-seal.ts'

/** What routes reach beyond their own domain verb. Built once in main.ts, passed as a value. */
export type Services = {
  /** The connections to Postgres, shared fairly between callers. `ctx.pool` is the share of the caller. */
  pools: FairPool
  /** The share of work that belongs to no caller. */
  pool: Pool
  /** The copies of QuestDB, and the one to read. */
  copies: Copies
  /** The copy to read, shared fairly between callers: what routes read with. */
  readers: Readers
  fleetMaps: FleetMaps
  mapBackgrounds: MapBackgrounds
  clock: Clock
  plans: Plans
  logger: Logger
  metrics: HttpMetrics
  cursors: Cursors
  /** Unwraps the organizations' data keys, for profile and webhook secrets. */
  keyring: Keyring
  accessTokens: AccessTokens
  authenticator: Authenticator
  keys: KeyDirectory
  lastUses: LastUses
  sessionCookie: SessionCookie
  sessionLifetimeMs: number
  /** Sign-in at the identity provider; undefined if it is not configured. */
  signInProvider: SignInProvider | undefined
  signInAttempts: SignInAttempts
  /** Whether people can get sign-in links by e-mail, to within a second. */
  sendsLinks: () => Promise<boolean>
  tokenSeal: TokenSeal
  /** Where the claims of the identity provider name the user's access. */
  claimNames: ClaimNames
  /** Allowance of requests per organization, and of failed authentications and sign-ins per address. */
  requestLimiter: RateLimiter
  failedAuthenticationLimiter: RateLimiter
  signInLimiter: RateLimiter
  deviceEdge: DeviceEdge
  deviceAdmission: DeviceAdmission
  bodies: Bodies
  /** Where imports wait for their turn. */
  importLine: FairQueue
  /** The requests with an Idempotency-Key in progress. One that waits for its turn has no lock in the database yet. */
  begunRequests: Set<string>
  readinessChecks: ReadinessCheck[]
  /** Base addresses of the copies of the other apps, for their `/metrics`. */
  otherApps: readonly AppCopies[]
  /** Base addresses of all copies of this app for their `/metrics`. Empty if this process is the only one. */
  controlPlaneUrls: readonly string[]
  /** The first path segment after /api that names the router model. */
  routerModelSegment: string
  trustedProxyHops: number
  /** The addresses at which receivers of webhooks may be. */
  webhookAddresses: ReachableAddresses
  /** Undefined while tracing is off. */
  tracing: Tracing | undefined
  /** The address that callers use, for links. */
  publicBaseUrl: string
}
