import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, accessWasRefused, isSignedIn, post } from '../../api/client.ts'
import { useAction } from '../../components/action.ts'
import { CheckedForm, useChecked } from '../../components/checked-form.tsx'
import { FailureNotice } from '../../components/notice.tsx'
import { caller } from '../../state/session.ts'
import { loadSession, provider, providerAddress, sendsLinks, signInWithKey, useLink } from '../../state/sign-in.ts'
import { goTo, place, takeParam } from '../../state/url.ts'
import css from './sign-in.module.css'

const problems: Record<string, string> = {
  expired: 'The sign-in took too long or began in another browser. Sign in again.',
  refused: 'The identity provider did not sign you in. Try again, or ask your administrator.',
  no_access: 'You are known to the identity provider, but have no access to any organization. Ask your administrator.',
  unavailable: 'The identity provider does not respond. Try again later.',
}

/** Signs in with a link, at the identity provider, or with an API key. */
export function SignIn() {
  const [link] = useState(() => takeParam('link'))
  const [isMailed] = useState(() => takeParam('by') === 'mail')
  // The service answers when the page loads; after a sign-out, it has to be asked again.
  useEffect(() => {
    if (provider.value === null && link === undefined) void loadSession()
  }, [])
  return (
    <main class={css.signIn}>
      <div class={`card ${css.signInCard}`}>
        <img src="./favicon.svg" alt="" width="40" height="40" />
        <div>
          <h1>Routerfleet</h1>
          <p class={css.signInLead}>Position, signal and jobs of every router in your fleet.</p>
        </div>
        {link ? <WithLink link={link} isMailed={isMailed} /> : <Choices />}
      </div>
    </main>
  )
}

/** Asks for another sign-in above a page whose session ended, also above its open dialogs. Only a sign-in closes it. */
export function SignInAgain() {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
    return () => dialog.current?.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      class={css.again}
      aria-label="Sign in again"
      onKeyDown={(event) => {
        if (event.key === 'Escape') event.preventDefault()
      }}
      onCancel={(event) => event.preventDefault()}
    >
      <SignIn />
    </dialog>
  )
}

/** Uses the link at once. Asks first if somebody is signed in, and if it was mailed, because mail scanners open links. */
function WithLink({ link, isMailed }: { link: string; isMailed: boolean }) {
  const { busy, failure, run } = useAction()
  const [isConfirmed, confirm] = useState(!isSignedIn.value && !isMailed)
  useEffect(() => {
    if (isConfirmed) void run(() => useLink(link))
  }, [isConfirmed])
  if (!isConfirmed && !isSignedIn.value)
    return (
      <button type="button" class="button primary" onClick={() => confirm(true)}>
        Sign in
      </button>
    )
  if (!isConfirmed)
    return (
      <>
        <p>You are signed in as {caller.value?.name ?? 'another person'}. Use the sign-in link instead?</p>
        <button type="button" class="button primary" onClick={() => confirm(true)}>
          Use the link
        </button>
        <button type="button" class="button" onClick={() => goTo('map')}>
          Stay signed in
        </button>
      </>
    )
  if (busy || !failure) return <p role="status">Signing in …</p>
  return (
    <>
      <FailureNotice reason={failure} />
      <p class="hint">
        {isMailed ? (
          'A link works once and for 30 minutes. Ask for a new one below.'
        ) : (
          <>
            A link works once and for a limited time. Print a new one with <code>npm run sign-in</code>, or ask your
            administrator.
          </>
        )}
      </p>
      <Choices />
    </>
  )
}

function Choices() {
  const { problem } = place.value.params
  const keyField = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (!sendsLinks.value) keyField.current?.focus()
  }, [])
  const checked = useChecked(async (form) => {
    const key = String(form.get('key') ?? '').trim()
    await signInWithKey(key).catch(explain)
    if (place.value.view === 'sign-in') goTo('map')
  })
  return (
    <>
      {problem ? <FailureNotice reason={problems[problem] ?? problems.refused} /> : null}
      {accessWasRefused.value && !checked.refusal ? (
        <FailureNotice reason="Your session has ended, or your API key was revoked or has expired. Sign in again to continue where you were." />
      ) : null}
      {provider.value ? (
        <a class="button primary" href={providerAddress()} target={accessWasRefused.value ? '_blank' : undefined}>
          Sign in with {provider.value.name}
        </a>
      ) : null}
      {provider.value && sendsLinks.value ? <p class={css.separator}>or with a link by e-mail</p> : null}
      {sendsLinks.value ? <LinkByMail isPrimary={!provider.value} /> : null}
      {provider.value || sendsLinks.value ? <p class={css.separator}>or with an API key</p> : null}
      <CheckedForm checked={checked}>
        <label class="field">
          <span>API key</span>
          <input
            ref={keyField}
            class="input"
            name="key"
            type="password"
            autocomplete="off"
            required
            data-empty="Enter an API key."
            placeholder="flk_…"
          />
        </label>
        {checked.refusal}
        <button
          type="submit"
          class={`button ${provider.value || sendsLinks.value ? '' : 'primary'}`}
          disabled={checked.busy}
        >
          {checked.busy ? 'Signing in …' : 'Sign in'}
        </button>
      </CheckedForm>
      <p class={css.signInNote}>
        On the machine of a local start, <code>npm run sign-in</code> prints a link that signs you in. With an API key,
        this tab stays signed in until you close it.
      </p>
    </>
  )
}

/** Asks for a sign-in link by e-mail. The answer does not tell whether the address is known. */
function LinkByMail({ isPrimary }: { isPrimary: boolean }) {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => field.current?.focus(), [])
  const [sentTo, setSentTo] = useState<string>()
  const checked = useChecked(async (form) => {
    const email = String(form.get('email') ?? '').trim()
    setSentTo(undefined)
    await post('/auth/sign-in-mails', { body: { email } })
    setSentTo(email)
  })
  return (
    <CheckedForm checked={checked}>
      <label class="field">
        <span>E-mail address</span>
        <input ref={field} class="input" name="email" type="email" required maxLength={254} autocomplete="email" />
      </label>
      {checked.refusal}
      {sentTo ? (
        <p role="status" class="hint">
          If {sentTo} belongs to a person of this service, a message with a link arrives within a minute.
        </p>
      ) : null}
      <button type="submit" class={`button ${isPrimary ? 'primary' : ''}`} disabled={checked.busy}>
        Send me a sign-in link
      </button>
    </CheckedForm>
  )
}

function explain(error: unknown): never {
  if (error instanceof ApiError && error.status === 401)
    throw new Error('Invalid API key. It may be mistyped, revoked or expired.')
  throw error
}
