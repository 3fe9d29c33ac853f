type MapRequest = { url: string; headers?: Record<string, string>; credentials?: 'same-origin' }

/**
 * Returns how the map requests an address: only requests to the origin of the page carry the reader's key, in `headers`, or
 * the session cookie.
 */
export const mapRequest = (url: string, pageUrl: string, headers: Record<string, string>): MapRequest =>
  new URL(url, pageUrl).origin === new URL(pageUrl).origin ? { url, headers, credentials: 'same-origin' } : { url }
