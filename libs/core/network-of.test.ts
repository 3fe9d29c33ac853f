import { BlockList } from 'node:net'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { networkOf } from '#core/network-of'

const groups = fc.array(fc.oneof(fc.integer({ min: 0, max: 0xffff }), fc.constant(0)), { minLength: 8, maxLength: 8 })
const octets = fc.array(fc.integer({ min: 0, max: 255 }), { minLength: 4, maxLength: 4 })
const spelling = fc.record({
  upperCase: fc.boolean(),
  leadingZeros: fc.boolean(),
  dotted: fc.boolean(),
  shortened: fc.nat(7),
  around: fc.constantFrom<[string, string]>(['', ''], ['', '%eth0'], ['[', ']'], ['[', ']:443'], ['[', '%3]:80']),
})
type Spelling = typeof spelling extends fc.Arbitrary<infer Value> ? Value : never

/** Writes an address in one of the ways that RFC 4291 allows. */
function spell(address: readonly number[], { upperCase, leadingZeros, dotted, shortened, around }: Spelling): string {
  const words = address.map((group) => group.toString(16).padStart(leadingZeros ? 4 : 1, '0'))
  const [high = 0, low = 0] = address.slice(6)
  const parts = dotted ? [...words.slice(0, 6), `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`] : words
  let end = shortened
  while (end < (dotted ? 6 : 8) && address[end] === 0) end += 1
  const text =
    end - shortened > 0 ? `${parts.slice(0, shortened).join(':')}::${parts.slice(end).join(':')}` : parts.join(':')
  return around[0] + (upperCase ? text.toUpperCase() : text) + around[1]
}

const isOfIPv4 = (address: readonly number[]) => {
  const start = address.slice(0, 6).join()
  return start === '0,0,0,0,0,65535' || start === '100,65435,0,0,0,0'
}

test('all spellings of all addresses of a /64 are one network, and other networks are others', () => {
  fc.assert(
    fc.property(groups, groups, spelling, spelling, (one, other, first, second) => {
      fc.pre(!isOfIPv4(one) && !isOfIPv4(other))
      const neighbour = [...one.slice(0, 4), ...other.slice(4)]
      fc.pre(!isOfIPv4(neighbour))
      const network = networkOf(spell(one, first))
      expect(networkOf(spell(neighbour, second))).toBe(network)
      const isSame = one.slice(0, 4).join() === other.slice(0, 4).join()
      expect(networkOf(spell(other, second)) === network).toBe(isSame)
      const block = new BlockList()
      block.addSubnet(network.replace('/64', ''), 64, 'ipv6')
      expect(block.check(spell(one, { ...first, around: ['', ''] }), 'ipv6')).toBe(true)
    }),
  )
})

test('an IPv4 address is itself in every spelling, with or without a port', () => {
  fc.assert(
    fc.property(
      octets,
      spelling,
      fc.constantFrom([0, 0, 0, 0, 0, 0xffff], [0x64, 0xff9b, 0, 0, 0, 0]),
      (bytes, how, start) => {
        const [a = 0, b = 0, c = 0, d = 0] = bytes
        const plain = bytes.join('.')
        expect(networkOf(plain)).toBe(plain)
        expect(networkOf(`${plain}:443`)).toBe(plain)
        expect(networkOf(spell([...start, a * 256 + b, c * 256 + d], how))).toBe(plain)
      },
    ),
  )
})

test.each(['unknown', '', '_hidden', '1.2.3', '1.2.3:80', '2001:db8::1::2', '[', '%eth0'])(
  '"%s" is unchanged',
  (text) => {
    expect(networkOf(text)).toBe(text)
  },
)
