import type { AlertRule } from '../../api/schemas.ts'

/** Says that rules name e-mail addresses although the service has no mail server. Renders nothing otherwise. */
export function MissingMailServer({ rules }: { rules: readonly AlertRule[] }) {
  const silent = rules.filter(({ mailMissing }) => mailMissing)
  if (silent.length === 0) return null
  return (
    <section class="notice bad" aria-label="No mail server">
      <p>
        The service has no mail server, so that these rules send no e-mail: {silent.map(({ name }) => name).join(', ')}.
        Whoever runs the service sets <code>SMTP_URL</code> and <code>MAIL_FROM</code> for the worker.
      </p>
    </section>
  )
}
