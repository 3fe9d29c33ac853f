import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { SMTPServer } from 'smtp-server'
import { Secret } from '#core/secret'

/** A message that the server accepted: its envelope, and headers and body as sent. */
type ReceivedMail = { to: string[]; raw: string; subject: string }

export type TestSmtp = {
  smtpUrl: Secret
  received: ReceivedMail[]
  /** The server responds to each recipient with this code instead of accepting it; undefined accepts again. */
  refuseWith(code: number | undefined): void
  close(): Promise<void>
}

/** Starts an SMTP server on this machine that requires credentials. */
export async function startSmtp(): Promise<TestSmtp> {
  const received: ReceivedMail[] = []
  let refusal: number | undefined
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    allowInsecureAuth: true,
    onAuth: ({ username, password }, _session, done) =>
      username === 'fleet' && password === 'secret' ? done(null, { user: username }) : done(new Error('No.')),
    onRcptTo: (_address, _session, done) =>
      refusal === undefined ? done() : done(Object.assign(new Error('Refused.'), { responseCode: refusal })),
    onData: async (stream, session, done) => {
      const raw = await text(stream)
      const subject = /^Subject: (.*(?:\r\n[ \t].*)*)/m.exec(raw)?.[1] ?? ''
      received.push({ to: session.envelope.rcptTo.map(({ address }) => address), raw, subject })
      done()
    },
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  const { port } = server.server.address() as AddressInfo
  return {
    smtpUrl: new Secret(`smtp://fleet:secret@127.0.0.1:${port}`),
    received,
    refuseWith(code) {
      refusal = code
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
