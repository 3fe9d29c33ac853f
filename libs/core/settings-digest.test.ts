import fc from 'fast-check'
import { expect, test } from 'vitest'
import { settingsDigest, withoutSecrets } from '#core/settings-digest'

const settings = () => ({
  wifi: { ssid: 'fleet', password: 'hunter2' },
  users: [{ name: 'a', key: 'k1' }, { name: 'b' }],
  keys: ['x', 'y', 'z'],
  'a/b': { 'c~d': 1, '~1': 2 },
})

test('members are left out, items become null, and pointers to nothing are ignored', () => {
  const given = settings()
  const secrets = ['/wifi/password', '/users/0/key', '/keys/1', '/a~1b/c~0d', '/a~1b/~01']
  const nothing = [
    '',
    'wifi',
    '/none',
    '/wifi/none/deep',
    '/keys/01',
    '/keys/3',
    '/keys/-',
    '/keys/length',
    '/wifi/ssid/0',
  ]
  expect(withoutSecrets(given, [...secrets, ...nothing])).toEqual({
    wifi: { ssid: 'fleet' },
    users: [{ name: 'a' }, { name: 'b' }],
    keys: ['x', null, 'z'],
    'a/b': {},
  })
  expect(given).toEqual(settings())
})

test('a pointer does not reach a prototype', () => {
  withoutSecrets({}, ['/__proto__/toString', '/constructor/prototype/toString'])
  expect(String({})).toBe('[object Object]')
  const own = JSON.parse('{"__proto__": {"a": 1, "b": 2}}')
  expect(JSON.stringify(withoutSecrets(own, ['/__proto__/a']))).toBe('{"__proto__":{"b":2}}')
})

test('the digest is SHA-256 over the canonical JSON', () => {
  expect(settingsDigest({})).toBe('sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a')
  // printf '%s' '{"a":[1,null],"wifi":{"ssid":"fleet"}}' | sha256sum
  expect(settingsDigest({ wifi: { ssid: 'fleet' }, a: [1.0, null] })).toBe(
    'sha256:36ece9fdd3c70984dc4648ebc38132a4a53831c670cde6fed4d81d5d19602f83',
  )
})

test('the digest depends on each value that is no secret, and on no secret', () => {
  const text = fc.string()
  fc.assert(
    fc.property(text, text, text, (ssid, password, other) => {
      const digest = (wifi: object) => settingsDigest(withoutSecrets({ wifi }, ['/wifi/password']))
      expect(digest({ ssid, password })).toBe(digest({ password: other, ssid }))
      expect(digest({ ssid: `${ssid}!`, password })).not.toBe(digest({ ssid, password }))
    }),
  )
})
