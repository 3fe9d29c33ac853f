import { errorText } from '#core/error-text'
import { type Repeating, repeat } from '#core/schedule'
import { rolesOfPerson } from '#fleet/access/person-principal'
import {
  confirmSession,
  type DueSession,
  endRefusedSession,
  keepTokens,
  takeDueSessions,
} from '#fleet/access/session-checks'
import { mergeGrants, userPrincipal } from '#fleet/access/user-principal'
import type { Plans } from '#fleet/organizations/plans'
import type { Logger } from '#http/request-log'
import type { Pool } from '#postgres/pool'
import { type ClaimNames, displayName, grantedAccess } from './granted-access.ts'
import { AccessRefusedError, type SignInProvider } from './provider.ts'
import type { TokenSeal } from './token-seal.ts'

type Parts = {
  pool: Pool
  plans: Plans
  logger: Logger
  provider: SignInProvider
  claimNames: ClaimNames
  seal: TokenSeal
}

const lookEveryMs = 5_000
const checkedTogether = 20

/**
 * Checks the sessions of the provider's users again, so that changed roles and disabled users take effect. Each session is
 * checked by one control plane at a time. No transaction is open while the provider is asked.
 */
export function startSessionChecks(parts: Parts): Repeating {
  const { pool, logger } = parts
  const fail = (error: unknown) => logger.warn({ reason: errorText(error) }, 'session_check_failed')
  const round = async (): Promise<boolean> => {
    const due = await takeDueSessions(pool, checkedTogether)
    const checks = await Promise.allSettled(due.map((session) => check(parts, session)))
    const failed = checks.find(({ status }) => status === 'rejected')
    // One line for a provider that does not respond. The sessions are due again after a minute.
    if (failed?.status === 'rejected') fail(failed.reason)
    return due.length === checkedTogether && !failed
  }
  return repeat(lookEveryMs, round, fail)
}

async function check(
  { pool, plans, provider, claimNames, seal }: Parts,
  { id, tokens, personId }: DueSession,
): Promise<void> {
  const opened = await seal.open(tokens)
  // During a rotation of the master secret, another control plane may know the one with which they are encrypted.
  if (!opened) throw new Error('The tokens of a session are encrypted with another CONFIG_SECRETS_KEY.')
  try {
    const renewed = await provider.renew(opened)
    const session = { id, tokens: await seal.seal(renewed.tokens) }
    // A refresh token often works once, so the new one is stored before anything else can fail.
    if (renewed.tokens.refreshToken !== opened.refreshToken) await keepTokens(pool, session)
    const claims = await renewed.claims()
    const user = { name: displayName(claims), ...grantedAccess(claims, claimNames) }
    const grants = mergeGrants(user.grants, await rolesOfPerson(pool, personId))
    const principal = await userPrincipal({ db: pool, plans }, { id: '', ...user, grants })
    if (!principal.platform && principal.grants.size === 0) throw new AccessRefusedError('The user has no access now.')
    await confirmSession(pool, { ...session, ...user })
  } catch (error) {
    if (!(error instanceof AccessRefusedError)) throw error
    await endRefusedSession(pool, id, error.message)
  }
}
