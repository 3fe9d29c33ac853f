import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, accessWasRefused, get, isSignedIn, signIn } from '../../api/client.ts'
import { useAction } from '../../components/action.ts'
import { FailureNotice } from '../../components/notice.tsx'
import { caller } from '../../state/session.ts'
import { loadSession, provider, providerAddress, useLink } from '../../state/sign-in.ts'
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
        {link ? <WithLink link={link} /> : <Choices />}
      </div>
    </main>
  )
}

/** Uses the link at once, or asks first if somebody is signed in. */
function WithLink({ link }: { link: string }) {
  const { busy, failure, run } = useAction()
  const [isConfirmed, confirm] = useState(!isSignedIn.value)
  useEffect(() => {
    if (isConfirmed) void run(() => useLink(link))
  }, [isConfirmed])
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
        A link works once and for ten minutes. Print a new one with <code>npm run sign-in</code>.
      </p>
      <Choices />
    </>
  )
}

function Choices() {
  const { problem } = place.value.params
  const { busy, failure, run } = useAction()
  const keyField = useRef<HTMLInputElement>(null)
  useEffect(() => keyField.current?.focus(), [])
  const submit = (event: Event) => {
    event.preventDefault()
    const key = String(new FormData(event.target as HTMLFormElement).get('key') ?? '').trim()
    void run(async () => {
      await get('/signal-thresholds', { key }).catch(explain)
      signIn(key)
      if (place.value.view === 'sign-in') goTo('map')
    })
  }
  return (
    <>
      {problem ? <FailureNotice reason={problems[problem] ?? problems.refused} /> : null}
      {accessWasRefused.value && !failure ? (
        <FailureNotice reason="Your session has ended, or your API key was revoked or has expired. Sign in again." />
      ) : null}
      {provider.value ? (
        <>
          <a class="button primary" href={providerAddress()}>
            Sign in with {provider.value.name}
          </a>
          <p class={css.separator}>or with an API key</p>
        </>
      ) : null}
      <form onSubmit={submit}>
        <label class="field">
          <span>API key</span>
          <input
            ref={keyField}
            class="input"
            name="key"
            type="password"
            autocomplete="off"
            required
            placeholder="flk_…"
          />
        </label>
        <FailureNotice reason={failure} />
        <button type="submit" class={`button ${provider.value ? '' : 'primary'}`} disabled={busy}>
          {busy ? 'Signing in …' : 'Sign in'}
        </button>
      </form>
      <p class={css.signInNote}>
        On the machine of a local start, <code>npm run sign-in</code> prints a link that signs you in. With an API key,
        this tab stays signed in until you close it.
      </p>
    </>
  )
}

function explain(error: unknown): never {
  if (error instanceof ApiError && error.status === 401)
    throw new Error('Invalid API key. It may be mistyped, revoked or expired.')
  throw error
}
