import { useEffect, useState } from 'preact/hooks'
import { post } from '../../api/client.ts'
import type { AnswerOf, Operation } from '../../api/operations.ts'
import { useAction } from '../../components/action.ts'
import { FailureNotice } from '../../components/notice.tsx'
import { takeParam } from '../../state/url.ts'
import css from './sign-in.module.css'

type Linked = AnswerOf<Operation<'post', '/alert-address-links'>>

const answers = { confirm: 'Receive alerts', refuse: 'Not me: receive no messages' } as const

/**
 * What the link of a message about alerts opens, without a sign-in. Opening it changes nothing, because mail scanners open
 * links; only the buttons do.
 */
export function AlertMailView() {
  const [link] = useState(() => takeParam('link') ?? '')
  const [linked, setLinked] = useState<Linked>()
  const { busy, failure, run } = useAction()
  const send = (answer?: keyof typeof answers) =>
    run(async () => {
      const body = { link, ...(answer === undefined ? {} : { answer }) }
      setLinked(await post('/alert-address-links', { body }))
    })
  useEffect(() => void send(), [])
  return (
    <main class={css.signIn}>
      <div class={`card ${css.signInCard}`}>
        <img src="./favicon.svg" alt="" width="40" height="40" />
        <h1>Alerts by e-mail</h1>
        {linked ? <p role="status">{sentenceOf(linked)}</p> : null}
        {linked && linked.state !== 'confirmed' ? (
          <button type="button" class="button primary" disabled={busy} onClick={() => send('confirm')}>
            {answers.confirm}
          </button>
        ) : null}
        {linked && linked.state !== 'refused' ? (
          <button type="button" class="button" disabled={busy} onClick={() => send('refuse')}>
            {answers.refuse}
          </button>
        ) : null}
        <FailureNotice reason={failure} />
      </div>
    </main>
  )
}

function sentenceOf({ email, organizationName, state }: Linked): string {
  switch (state) {
    case 'waiting':
      return `${organizationName} wants to send alerts about its routers to ${email}. Do you want to receive them?`
    case 'confirmed':
      return `${email} receives the alerts of ${organizationName}.`
    case 'refused':
      return `${email} receives no messages of ${organizationName}. You can change this with the same link.`
  }
}
