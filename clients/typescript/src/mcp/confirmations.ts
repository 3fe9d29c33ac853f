import { createHash, randomUUID } from 'node:crypto'
import { CommandError, exitCodes } from '../cli/exit-codes.ts'

const validMs = 10 * 60_000
const mostConfirmations = 1_000

/** What a confirmation is for: the caller, the tool with its arguments, and the plan that the caller read. */
type Confirmed = { key: string; organizationId: string; tool: string; request: unknown; plan: unknown }

export type Confirmations = {
  issue(what: Confirmed): { confirm: string; expiresAt: string }
  /**
   * Uses a confirmation up. Returns false if the plan is no longer the one that was confirmed. Throws if the confirmation is
   * unknown, was used, has expired, or is for another caller or for other arguments.
   */
  use(confirm: string, what: Confirmed): boolean
}

/** The confirmations of this process. Each can be used once, within ten minutes. */
export function createConfirmations(now: () => number = Date.now): Confirmations {
  const issued = new Map<string, { request: string; plan: string; expiresMs: number }>()
  return {
    issue(what) {
      for (const [confirm, { expiresMs }] of issued) {
        if (expiresMs > now() && issued.size < mostConfirmations) break
        issued.delete(confirm)
      }
      const confirm = randomUUID()
      const expiresMs = now() + validMs
      issued.set(confirm, { ...digestsOf(what), expiresMs })
      return { confirm, expiresAt: new Date(expiresMs).toISOString() }
    },
    use(confirm, what) {
      const found = issued.get(confirm)
      const { request, plan } = digestsOf(what)
      if (found?.request !== request || found.expiresMs <= now()) throw refused()
      issued.delete(confirm)
      return found.plan === plan
    },
  }
}

const refused = () =>
  new CommandError(
    'Nothing was changed: the confirmation has expired, was used, or is for other arguments. Call the tool without `confirm` for a new plan.',
    exitCodes.refused,
  )

const digestsOf = ({ plan, ...request }: Confirmed) => ({ request: digestOf(request), plan: digestOf(plan) })

const digestOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex')
