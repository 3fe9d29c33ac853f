import { useEffect, useState } from 'preact/hooks'
import { post, sessionCaller } from '../../api/client.ts'
import type { AnswerOf, Operation } from '../../api/operations.ts'
import { useAction } from '../../components/action.ts'
import { CheckedForm, useChecked } from '../../components/checked-form.tsx'
import { dayAndTime } from '../../components/format.ts'
import { FailureNotice } from '../../components/notice.tsx'
import { signedInAs } from '../../state/sign-in.ts'
import { takeParam } from '../../state/url.ts'
import css from './sign-in.module.css'

type Linked = AnswerOf<Operation<'post', '/auth/invitation-links'>>

const roleText: Record<Linked['role'], string> = {
  viewer: 'a viewer: you see devices, jobs and the map',
  operator: 'an operator: you also change devices and run jobs',
  admin: 'an administrator: you may do everything in this organization',
}

/**
 * What the link of an invitation opens, without a sign-in. Opening it changes nothing, because mail scanners open links; only the
 * button does.
 */
export function InvitationView() {
  const [link] = useState(() => takeParam('link') ?? '')
  const [linked, setLinked] = useState<Linked>()
  const { failure, run } = useAction()
  useEffect(() => void run(async () => setLinked(await post('/auth/invitation-links', { body: { link } }))), [])
  const joining = useChecked(async (form) => {
    const name = String(form.get('name') ?? linked?.name ?? '').trim()
    signedInAs(await post('/auth/invitation-acceptances', { body: { link, name } }))
  })
  const present = sessionCaller.value
  return (
    <main class={css.signIn}>
      <div class={`card ${css.signInCard}`}>
        <img src="./favicon.svg" alt="" width="40" height="40" />
        {linked ? (
          <>
            <div>
              <h1>Join {linked.organizationName}</h1>
              <p class={css.signInLead}>
                {linked.invitedByName ? `${linked.invitedByName} invites you` : 'You are invited'} to this fleet as{' '}
                {roleText[linked.role]}.
              </p>
            </div>
            {present ? (
              <p>This browser is signed in as {present.name ?? 'another person'}. Joining ends that session.</p>
            ) : null}
            <CheckedForm checked={joining}>
              {linked.name === null ? (
                <label class="field">
                  <span>Your name, as your colleagues see it</span>
                  <input class="input" name="name" required maxLength={200} autocomplete="name" />
                </label>
              ) : (
                <p>You join as {linked.name}.</p>
              )}
              {joining.refusal}
              <button type="submit" class="button primary" disabled={joining.busy}>
                {joining.busy ? 'Joining …' : 'Join'}
              </button>
            </CheckedForm>
            <p class={css.signInNote}>
              For {linked.email}, until {dayAndTime(Date.parse(linked.expiresAt))}.
            </p>
          </>
        ) : (
          <>
            <h1>Invitation</h1>
            {failure ? <FailureNotice reason={failure} /> : <p role="status">Loading …</p>}
          </>
        )}
      </div>
    </main>
  )
}
