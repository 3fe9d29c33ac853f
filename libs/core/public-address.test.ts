import { expect, test } from 'vitest'
import { isPublicAddress, reachableAddresses, refusalOfUrl } from '#core/public-address'

test.each(['8.8.8.8', '1.1.1.1', '172.32.0.1', '100.128.0.1', '2606:4700::1111', '2a00:1450:4001:81b::200e'])(
  '%s is public',
  (address) => expect(isPublicAddress(address)).toBe(true),
)

test.each([
  '0.0.0.0',
  '10.1.2.3',
  '100.64.0.1',
  '127.0.0.1',
  '169.254.169.254',
  '172.31.255.255',
  '192.168.1.1',
  '224.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:10.0.0.1',
  '::ffff:8.8.8.8',
  '64:ff9b::a00:1',
  'fe80::1',
  'fd00::1',
  '2002:0a00:0001::',
  'ff02::1',
  'example.com',
])('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false))

test.each(['https://hooks.example.com/in?x=1', 'https://8.8.8.8:8443/', 'https://[2606:4700::1111]/'])(
  '%s may be fetched',
  (url) => expect(refusalOfUrl(url)).toBeUndefined(),
)

test.each([
  'http://example.com/',
  'https://user:pass@example.com/',
  'https://127.1/',
  'https://0x7f000001/',
  'https://2130706433/',
  'https://[::1]/',
  'https://[::ffff:127.0.0.1]/',
  'https://localhost/',
  'https://metadata.google.internal/',
  'https://intranet/',
  'ftp://example.com/',
  'nonsense',
  'https://example.com/\0',
  'https://example.com/\ud800',
])('%s is refused', (url) => expect(refusalOfUrl(url)).toMatch(/\.$/))

test('private networks that the operator allows can be reached, and no others', () => {
  const reachable = reachableAddresses(['10.20.0.0/16', 'fd12::/32'])
  for (const address of ['8.8.8.8', '10.20.3.4', '::ffff:10.20.3.4', 'fd12::7'])
    expect(reachable.includes(address), address).toBe(true)
  for (const address of ['10.21.0.1', '127.0.0.1', '169.254.169.254', 'fd13::7', '::ffff:10.21.0.1', 'example.com'])
    expect(reachable.includes(address), address).toBe(false)
  expect(refusalOfUrl('https://10.20.3.4/in', reachable)).toBeUndefined()
  expect(refusalOfUrl('https://10.21.0.1/in', reachable)).toMatch(/\.$/)
  expect(refusalOfUrl('https://hooks.internal/in', reachable)).toBeUndefined()
  expect(refusalOfUrl('http://10.20.3.4/in', reachable)).toMatch(/https/)
})

test('without private networks, only the public Internet can be reached', () => {
  const reachable = reachableAddresses([])
  expect(reachable.includes('10.20.3.4')).toBe(false)
  expect(refusalOfUrl('https://hooks.internal/in', reachable)).toMatch(/\.$/)
})
