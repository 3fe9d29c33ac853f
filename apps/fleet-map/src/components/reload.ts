const retryMs = 3_000
/** A part that is still missing this soon after a reload is not missing because of the connection. */
const notAgainWithinMs = 60_000
const storageKey = 'routerfleet.reloadedAt'

/**
 * Reloads the page once the service can be reached. A browser does not load a part of the page again that failed, and after an
 * upgrade of the service its parts have other names. Returns false, and does nothing, shortly after such a reload.
 */
export function reloadWhenReachable(): boolean {
  if (Date.now() - Number(sessionStorage.getItem(storageKey)) < notAgainWithinMs) return false
  const look = async () => {
    const answer = await fetch(document.baseURI, { method: 'HEAD', cache: 'no-store' }).catch(() => undefined)
    if (!answer?.ok) return void setTimeout(look, retryMs)
    sessionStorage.setItem(storageKey, String(Date.now()))
    location.reload()
  }
  setTimeout(look, retryMs)
  return true
}
