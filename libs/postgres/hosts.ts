/**
 * Returns one connection string for each host of a connection string, in its order. The syntax for several hosts is the one
 * of libpq: `postgresql://user:password@a:5432,b:5432/routerfleet`. Throws if a host is empty, or if `target_session_attrs`
 * asks for another server than the primary.
 */
export function hostUrls(url: string): string[] {
  const schemeEnd = url.indexOf('://') + 3
  const authorityLength = url.slice(schemeEnd).search(/[/?#]/)
  const hostsEnd = authorityLength < 0 ? url.length : schemeEnd + authorityLength
  const hostsStart = Math.max(schemeEnd, url.lastIndexOf('@', hostsEnd - 1) + 1)
  const hosts = url.slice(hostsStart, hostsEnd).split(',')
  if (hosts.length === 1) return [url]
  const urls = hosts.map((host) => {
    if (host === '' || host.startsWith(':')) throw new Error('POSTGRES_URL has an empty host in its list of hosts.')
    return url.slice(0, hostsStart) + host + url.slice(hostsEnd)
  })
  const target = new URL(urls[0] ?? '').searchParams.get('target_session_attrs') ?? 'primary'
  if (target !== 'primary' && target !== 'read-write')
    throw new Error(`target_session_attrs in POSTGRES_URL must be read-write or primary, got "${target}".`)
  return urls
}
