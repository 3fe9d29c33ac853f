import { useState } from 'preact/hooks'
import { ApiError, call, keyWasRefused, signIn } from '../api/client.ts'
import { FailureNotice } from '../components/notice.tsx'

/** Asks for the API key, checks it with the service, and keeps it for this browser tab. */
export function SignIn() {
  const [error, setError] = useState(
    keyWasRefused.value ? 'The API key was revoked or has expired. Sign in again.' : undefined,
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
      setError(refused ? 'Invalid API key. It may be mistyped, revoked or expired.' : (failure as Error).message)
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
            Position, signal and jobs of every router in your fleet.
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
          After a local start, the demo key is <code>demoKey</code> in <code>access.json</code> in the data folder. This
          page keeps the key until you close the tab.
        </p>
      </form>
    </main>
  )
}
