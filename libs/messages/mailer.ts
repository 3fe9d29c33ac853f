import { createTransport } from 'nodemailer'
import type { Secret } from '#core/secret'

/** A message to one address. `id` is the same for every attempt. */
type Mail = { id: string; to: string; subject: string; text: string }

/** `permanent`: another attempt would fail as well. */
type MailOutcome = { sent: true } | { sent: false; reason: string; permanent: boolean }

export type Mailer = { send(mail: Mail): Promise<MailOutcome>; close(): void }

/** Creates a mailer over SMTP. `from`: an address, or a name with an address in angle brackets. */
export function createMailer({ smtpUrl, from }: { smtpUrl: Secret; from: string }): Mailer {
  const transport = createTransport({
    url: smtpUrl.reveal(),
    pool: true,
    maxConnections: 4,
    connectionTimeout: 10_000,
    greetingTimeout: 10_000,
    socketTimeout: 30_000,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  const domain = /@([^>\s]+)/.exec(from)?.[1] ?? 'localhost'
  return {
    async send({ id, to, subject, text }) {
      try {
        await transport.sendMail({
          from,
          // An object is not parsed, so it is always one recipient.
          to: { name: '', address: to },
          subject,
          text,
          messageId: `<${id}@${domain}>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
        return { sent: true }
      } catch (error) {
        return outcomeOf(error)
      }
    },
    close: () => transport.close(),
  }
}

/** The server's text is not kept, because it can contain addresses. */
function outcomeOf(error: unknown): MailOutcome {
  const { code, responseCode } = error as { code?: string; responseCode?: number }
  const isRefused = code === 'EENVELOPE' && responseCode !== undefined && responseCode >= 500
  const reason = `the mail server ${responseCode === undefined ? 'could not be reached' : `responded with ${responseCode}`}`
  return { sent: false, reason: code === undefined ? reason : `${reason} (${code})`, permanent: isRefused }
}
