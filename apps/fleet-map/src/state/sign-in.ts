import { signal } from '@preact/signals'
import { ApiError, accessWasRefused, get, isSignedIn, post, sessionCaller, signOut } from '../api/client.ts'
import type { AnswerOf, Operation } from '../api/operations.ts'
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
    if (!isSignedIn.value) sessionCaller.value = session.caller
  } catch (error) {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429)
      sessionCaller.value = null
    else setTimeout(loadSession, retryMs)
  }
}

/** Exchanges a link for a session. Throws ApiError when the link cannot be used. */
export async function useLink(link: string): Promise<void> {
  signedInAs(await post('/auth/session', { body: { link } }))
}

/** Continues as the caller of a new session. */
export function signedInAs(signedIn: AnswerOf<Operation<'post', '/auth/session'>>): void {
  accessWasRefused.value = false
  sessionCaller.value = signedIn
  goTo('map', {}, [])
}

/** The address at which the sign-in at the identity provider begins. It returns to the present view. */
export const providerAddress = (): string => {
  const returnTo = place.value.view === 'sign-in' ? '#/map' : location.hash || '#/map'
  return `./auth/oidc/start?${new URLSearchParams({ returnTo })}`
}

/** Ends the session or forgets the key of this tab. A user of the identity provider continues with the sign-out there. */
export async function leave(): Promise<void> {
  const isUser = sessionCaller.value?.id.startsWith('user:') ?? false
  await signOut()
  if (isUser && provider.value?.signsOut) location.assign('./auth/oidc/sign-out')
}
