import { post } from '../../api/client.ts'
import type { AlertRule } from '../../api/schemas.ts'
import { useAction } from '../../components/action.ts'
import { FailureNotice } from '../../components/notice.tsx'

/** The addresses of these rules that receive no alerts yet, with a button that sends their confirmation again. */
export function UnconfirmedEmails({ org, rules }: { org: string; rules: readonly AlertRule[] }) {
  const states = new Map(
    rules.flatMap(({ unconfirmedEmails }) =>
      unconfirmedEmails.map(({ email, state }) => [email.toLowerCase(), state] as const),
    ),
  )
  if (states.size === 0) return null
  return (
    <section class="notice" aria-label="Addresses without a confirmation">
      <p>These addresses receive no alerts until their owners confirm them with the link that they received:</p>
      <ul>
        {[...states].map(([email, state]) => (
          <UnconfirmedEmail key={email} org={org} email={email} state={state} />
        ))}
      </ul>
    </section>
  )
}

type UnconfirmedEmailProps = { org: string; email: string; state: 'waiting' | 'refused' }

function UnconfirmedEmail({ org, email, state }: UnconfirmedEmailProps) {
  const { busy, failure, run } = useAction()
  const send = () => run(() => post(`/orgs/${org}/alert-address-confirmations`, { body: { email } }))
  if (state === 'refused') return <li>{email}: refused. Only its owner can allow messages again.</li>
  return (
    <li>
      {email}: waiting for confirmation{' '}
      <button
        type="button"
        class="button quiet small"
        disabled={busy}
        onClick={send}
        aria-label={`Send again to ${email}`}
      >
        Send again
      </button>
      <FailureNotice reason={failure} />
    </li>
  )
}
