import { isIPv4, isIPv6 } from 'node:net'

/**
 * Returns the text by which limits count an address of a client: an IPv4 address itself, and the /64 of an IPv6 address, because
 * a single line gets a /64 and can use a new address for each request. IPv4 addresses inside of IPv6 ones count as IPv4:
 * mapped ones (`::ffff:192.0.2.1`), and those of NAT64 (`64:ff9b::/96`). Accepts a zone (`fe80::1%eth0`), and a port as some
 * proxies append it. Returns other text unchanged.
 */
export function networkOf(address: string): string {
  const host = hostOf(address)
  const [plain = ''] = host.split('%', 1)
  if (!isIPv6(plain)) return host
  const groups = groupsOf(plain)
  const [, , , , , , high = 0, low = 0] = groups
  const prefix = groups.slice(0, 6).map((group) => group.toString(16))
  const isIPv4Inside = ['0:0:0:0:0:ffff', '64:ff9b:0:0:0:0'].includes(prefix.join(':'))
  if (isIPv4Inside) return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  return `${prefix.slice(0, 4).join(':')}::/64`
}

/** The address without the port of `192.0.2.1:443` and `[2001:db8::1]:443`. */
function hostOf(address: string): string {
  const [, inBrackets] = /^\[([^\]]*)\](?::\d+)?$/.exec(address) ?? []
  if (inBrackets !== undefined) return inBrackets
  const [, beforePort = ''] = /^([\d.]+):\d+$/.exec(address) ?? []
  return isIPv4(beforePort) ? beforePort : address
}

/** The eight groups of a valid IPv6 address. */
function groupsOf(address: string): number[] {
  const [start = [], end] = address.split('::').map((half) => half.split(':').filter(Boolean).flatMap(numbersOf))
  return end === undefined ? start : [...start, ...Array<number>(8 - start.length - end.length).fill(0), ...end]
}

/** A group of hexadecimal digits, or the IPv4 address at the end, which is two groups. */
function numbersOf(part: string): number[] {
  if (!part.includes('.')) return [Number.parseInt(part, 16)]
  const [a = 0, b = 0, c = 0, d = 0] = part.split('.').map(Number)
  return [a * 256 + b, c * 256 + d]
}
