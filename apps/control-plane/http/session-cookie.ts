import type { Context } from 'hono'
import { generateCookie, getCookie } from 'hono/cookie'

/** The cookie with the token of a sign-in session. Scripts cannot read it, and other sites cannot cause it to be sent. */
export type SessionCookie = {
  /** The token of the request's cookie. */
  read(c: Context): string | undefined
  /** The value of a `Set-Cookie` header. */
  set(token: string, maxAgeS: number): string
  clear(): string
}

/**
 * `publicBaseUrl` decides: with https, the cookie is sent over TLS only. The prefix `__Host-` prevents other hosts of the
 * domain from setting it. Browsers share cookies between the ports of a host, so the name has the port without TLS, where
 * several installations on one machine are common.
 */
export function createSessionCookie(publicBaseUrl: string): SessionCookie {
  const { protocol, pathname, port } = new URL(publicBaseUrl)
  const secure = protocol === 'https:'
  const path = pathname.endsWith('/') ? pathname : `${pathname}/`
  const name = secure ? `${path === '/' ? '__Host' : '__Secure'}-routerfleet` : `routerfleet${port && `-${port}`}`
  const set = (token: string, maxAge: number) =>
    generateCookie(name, token, { path, secure, httpOnly: true, sameSite: 'Strict', maxAge })
  return {
    read: (c) => getCookie(c, name),
    set,
    clear: () => set('', 0),
  }
}
