import { BlockList, isIP } from 'node:net'
import { isStorable } from '#core/text'

// The networks of the IANA special-purpose registries (RFC 6890 and updates) that are not on the public Internet.
const special = new BlockList()
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const)
  special.addSubnet(network, prefix, 'ipv4')
for (const [network, prefix] of [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const)
  special.addSubnet(network, prefix, 'ipv6')
// Only 2000::/3 is global unicast; mapped IPv4 (::ffff:0:0/96), NAT64, unique-local and link-local are all outside it.
const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')

/** True for an IPv4 or IPv6 address on the public Internet; false for private and special addresses and other text. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special.check(address, 'ipv4')
  if (family === 6) return globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6')
  return false
}

/** The addresses that the service may connect to: the public Internet, and the private networks that its operator allows. */
export type ReachableAddresses = {
  includes: (address: string) => boolean
  /** Whether there are private networks, so that a private name can lead to one of them. */
  hasPrivateNetworks: boolean
}

const publicInternet: ReachableAddresses = { includes: isPublicAddress, hasPrivateNetworks: false }

/** Returns the public Internet and these networks in CIDR notation. */
export function reachableAddresses(privateNetworks: readonly string[]): ReachableAddresses {
  const networks = new BlockList()
  for (const network of privateNetworks) {
    const [address = '', prefix] = network.split('/')
    networks.addSubnet(address, Number(prefix), familyOf(address))
  }
  return {
    includes: (address) =>
      isPublicAddress(address) || (isIP(address) !== 0 && networks.check(address, familyOf(address))),
    hasPrivateNetworks: privateNetworks.length > 0,
  }
}

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

const localName = /(^|\.)(localhost|local|internal|home\.arpa|localdomain)\.?$/i

/**
 * Returns the reason why a URL is refused, as one sentence, or undefined for an https URL without credentials whose host is
 * not obviously outside the reachable addresses. A name can still resolve to another address; check the address again when
 * connecting.
 */
export function refusalOfUrl(text: string, reachable: ReachableAddresses = publicInternet): string | undefined {
  if (!isStorable(text) || !URL.canParse(text)) return 'Not a valid URL.'
  const url = new URL(text)
  if (url.protocol !== 'https:') return 'The URL must use https.'
  if (url.username !== '' || url.password !== '') return 'The URL must not contain credentials.'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) return reachable.includes(host) ? undefined : 'The address is not on the public Internet.'
  if (reachable.hasPrivateNetworks) return undefined
  return localName.test(host) || !host.includes('.') ? 'The host is not on the public Internet.' : undefined
}
