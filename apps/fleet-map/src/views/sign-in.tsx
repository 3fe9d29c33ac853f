import { useState } from 'preact/hooks'
import { ApiError, call, keyWasRefused, signIn } from '../api/client.ts'
import { FailureNotice } from '../components/notice.tsx'

/** Asks for the API key once and tries it before keeping it for this tab. */
export function SignIn() {
  const [error, setError] = useState(
    keyWasRefused.value ? 'The key was revoked or has expired: sign in again.' : undefined,
  )
  const [busy, setBusy] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    const key = String(new FormData(event.target as HTMLFormElement).get('key') ?? '').trim()
    setBusy(true)
    setError(undefined)
    try {
      await call('/signal-thresholds', { key })
      signIn(key)
    } catch (failure) {
      const refused = failure instanceof ApiError && failure.status === 401
      setError(
        refused
          ? 'The service does not know this key. It may have been revoked, have expired or be mistyped.'
          : (failure as Error).message,
      )
      setBusy(false)
    }
  }
  return (
    <main class="sign-in">
      <form class="card" onSubmit={submit}>
        <img src="./favicon.svg" alt="" width="40" height="40" />
        <div>
          <h1>Routerfleet</h1>
          <p style={{ color: 'var(--text-soft)', marginTop: 'var(--space-1)' }}>
            Where every router is, and how good its signal was exactly there.
          </p>
        </div>
        <label class="field">
          <span>API key</span>
          <input class="input" name="key" type="password" autocomplete="off" required placeholder="flk_…" />
        </label>
        <FailureNotice reason={error} />
        <button type="submit" class="button primary" disabled={busy}>
          {busy ? 'Signing in …' : 'Sign in'}
        </button>
        <p style={{ color: 'var(--text-faint)', fontSize: 'var(--text-s)' }}>
          A local start writes its demo key as <code>demoKey</code> to <code>access.json</code> in its data folder. The
          key stays in this tab and is forgotten when it closes.
        </p>
      </form>
    </main>
  )
}
