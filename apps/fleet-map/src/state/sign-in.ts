import { effect, signal } from '@preact/signals'
import {
  ApiError,
  accessWasRefused,
  enter,
  get,
  isSignedIn,
  post,
  sessionCaller,
  signOut,
  storeKey,
} from '../api/client.ts'
import type { AnswerOf, Operation } from '../api/operations.ts'
import type { Caller } from '../api/schemas.ts'
import { isSameReader } from './same-reader.ts'
import { caller } from './session.ts'
import { goTo, place } from './url.ts'

type Provider = NonNullable<AnswerOf<Operation<'get', '/auth/session'>>['provider']>

/** The identity provider at which people can sign in; null without one. */
export const provider = signal<Provider | null>(null)

/** Whether the service sends sign-in links by e-mail. */
export const sendsLinks = signal(false)

const retryMs = 3_000

/** Asks the service who is signed in in this browser, until it answers. */
export async function loadSession(): Promise<void> {
  try {
    const session = await get('/auth/session')
    provider.value = session.provider
    sendsLinks.value = session.sendsLinks
    // A tab with an API key of its own stays with it, and so does one that signed in with a link while this answer was sent.
    if (isSignedIn.value) return
    if (session.caller) continueWith(session.caller, { session: session.caller })
    else sessionCaller.value = null
  } catch (error) {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429)
      sessionCaller.value = null
    else setTimeout(loadSession, retryMs)
  }
}

/**
 * Continues as somebody. After a session ended, the page and what was typed in it stay for the same reader, and anybody else
 * begins with a page of their own.
 */
function continueWith(holder: Caller, next: Parameters<typeof enter>[0]): void {
  const before = accessWasRefused.value ? caller.value : undefined
  if (before && !isSameReader(before, holder)) location.reload()
  else enter(next)
}

/** Continues with an API key in this tab. Throws ApiError when the key cannot be used. */
export async function signInWithKey(key: string): Promise<void> {
  const holder = await get('/auth/me', { key })
  storeKey(key)
  continueWith(holder, { key })
}

// Who opens a sign-in link gets another tab. The tab whose session ended continues with the new one.
const tabs = new BroadcastChannel('routerfleet.session')
tabs.onmessage = () => {
  if (accessWasRefused.value) void loadSession()
}
effect(() => {
  if (sessionCaller.value) tabs.postMessage('signed in')
})

/** Exchanges a link for a session. Throws ApiError when the link cannot be used. */
export async function useLink(link: string): Promise<void> {
  signedInAs(await post('/auth/session', { body: { link } }))
}

/** Continues as the caller of a new session. */
export function signedInAs(signedIn: AnswerOf<Operation<'post', '/auth/session'>>): void {
  enter({ session: signedIn })
  goTo('map', {}, [])
}

/**
 * The address at which the sign-in at the identity provider begins. It returns to the present view, or, from a tab of its own, to
 * a view that leads back to the tab whose session ended.
 */
export const providerAddress = (): string => {
  const view = place.value.view === 'sign-in' ? '#/map' : location.hash || '#/map'
  const returnTo = accessWasRefused.value ? '#/signed-in' : view
  return `./auth/oidc/start?${new URLSearchParams({ returnTo })}`
}

/** Ends the session or forgets the key of this tab. A user of the identity provider continues with the sign-out there. */
export async function leave(): Promise<void> {
  const isUser = sessionCaller.value?.id.startsWith('user:') ?? false
  await signOut()
  if (isUser && provider.value?.signsOut) location.assign('./auth/oidc/sign-out')
}
