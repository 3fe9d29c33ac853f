import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ServiceError } from '#core/errors'
import { namesSecret } from '#fleet/config-profiles/secret-names'
import { mergeSettings, readSettings } from '#fleet/config-profiles/settings'
import {
  type Json,
  listSecrets,
  redactSettings,
  restoreSecrets,
  revealSecrets,
  SettingsSecret,
  sameSettings,
} from '#fleet/config-profiles/settings-tree'
import { renderSettings, variablesOf } from '#fleet/config-profiles/variables/template'

const now = Date.UTC(2026, 0, 2, 3, 4, 5)
const later = now + 60_000
const mark = (atMs: number) => ({ $secret: { set: true, updatedAt: new Date(atMs).toISOString() } })
const codeOf = (action: () => unknown) => {
  try {
    action()
  } catch (error) {
    return error instanceof ServiceError ? `${error.status} ${error.code} ${error.errors?.[0]?.pointer}` : error
  }
  return 'accepted'
}

test.each(
  `password Password PASSWORD wifiPassword wifi_password PRE-SHARED-KEY preSharedKey psk_key privateKey apiKey apiKeys APIKey
  passphrase passwd PSKs wpa2Psk clientSecret access.token snmpCommunity communities simPIN pin pins credentials credential
  password1 key_2 passWord pass_phrase PassPhrase apikey APIKEY wifipassword WIFIPASSWORD presharedkey sshkey oauthtoken
  wpapsk simpin psk5g password_5G wifi-password-2.4GHz`.split(/\s+/),
)('%s names a secret', (key) => expect(namesSecret(key)).toBe(true))

test.each(
  'keyId monkey tokenize passwordPolicy keyboard secretName communityName pinned ssid spinner mypin2x user apnName 42 $ spin turkey hotkey passwordAge band5g 5G'.split(
    ' ',
  ),
)('%s does not name a secret', (key) => expect(namesSecret(key)).toBe(false))

test('a secret of any type and form is redacted completely', () => {
  const settings = readSettings(
    {
      wifi: { ssid: 'depot', password: 'w1' },
      simPin: 1234,
      credentials: { user: 'u', password: { $secret: 'w2' } },
      networks: [{ ssid: 'a', psk: 'w3' }],
      apn: { user: { $secret: 'w4' } },
      adminPassword: null,
    },
    now,
  )
  expect(redactSettings(settings)).toEqual({
    wifi: { ssid: 'depot', password: mark(now) },
    simPin: mark(now),
    credentials: mark(now),
    networks: [{ ssid: 'a', psk: mark(now) }],
    apn: { user: mark(now) },
    adminPassword: null,
  })
  expect(revealSecrets(settings)).toEqual({
    wifi: { ssid: 'depot', password: 'w1' },
    simPin: 1234,
    credentials: { user: 'u', password: 'w2' },
    networks: [{ ssid: 'a', psk: 'w3' }],
    apn: { user: 'w4' },
    adminPassword: null,
  })
  expect(`${JSON.stringify(settings)}`).not.toMatch(/w[1-4]"/)
})

test('a redaction keeps the value, null removes it, any other value replaces it', () => {
  const before = readSettings({ wifi: { password: 'one', psk: 'two', key: 'three' } }, now)
  const after = mergeSettings(before, { wifi: { password: mark(now), psk: null, key: 'four' } }, later)
  expect(redactSettings(after)).toEqual({ wifi: { password: mark(now), key: mark(later) } })
  expect(revealSecrets(after)).toEqual({ wifi: { password: 'one', key: 'four' } })
})

test('array items keep their secrets only at the same index', () => {
  const before = readSettings({ networks: [{ psk: 'one' }, { psk: 'two' }] }, now)
  const after = mergeSettings(before, { networks: [{ psk: mark(now), ssid: 'a' }] }, later)
  expect(revealSecrets(after)).toEqual({ networks: [{ psk: 'one', ssid: 'a' }] })
  expect(codeOf(() => mergeSettings(after, { networks: [{}, { psk: mark(now) }] }, later))).toBe(
    '400 secret_not_set /settings/networks/1/psk',
  )
})

test('a secret path stays secret until it is removed', () => {
  const before = readSettings({ apn: { user: { $secret: 'bob' } }, list: ['a', { $secret: 'b' }] }, now)
  const kept = mergeSettings(before, { apn: { user: { first: 'alice' } }, list: ['a', 'c'] }, later)
  expect(redactSettings(kept)).toEqual({ apn: { user: mark(later) }, list: ['a', mark(later)] })
  const removed = mergeSettings(kept, { apn: { user: null }, list: ['a'] }, later)
  const setAgain = mergeSettings(removed, { apn: { user: 'carol' }, list: ['a', 'd'] }, later)
  expect(redactSettings(setAgain)).toEqual({ apn: { user: 'carol' }, list: ['a', 'd'] })
})

test('a variable in place of a secret is a secret, and so is what follows it', () => {
  const before = readSettings({ uplink: { code: { $secret: 'hunter2' } } }, now)
  const reference = { $var: 'uplink_code', default: null }
  const referring = mergeSettings(before, { uplink: { code: reference } }, later)
  expect(redactSettings(referring)).toEqual({ uplink: { code: mark(later) } })
  expect(revealSecrets(referring)).toEqual({ uplink: { code: reference } })
  expect([...(variablesOf(referring)?.keys() ?? [])]).toEqual(['uplink_code'])
  const value = { value: 'of the variable', updatedAt: new Date(now).toISOString() }
  const { settings } = renderSettings(referring, new Map([['uplink_code', value]]))
  expect(redactSettings(settings)).toEqual({ uplink: { code: mark(later) } })
  expect(revealSecrets(settings)).toEqual({ uplink: { code: 'of the variable' } })

  expect(redactSettings(mergeSettings(referring, { uplink: { code: 'plain' } }, now))).toEqual({
    uplink: { code: mark(now) },
  })
  expect(codeOf(() => mergeSettings(before, { uplink: { code: { $var: '!' } } }, later))).toBe(
    '400 invalid_settings /settings/uplink/code',
  )
})

test.each<[string, Json, string]>([
  ['a redaction where nothing was set', { a: { b: mark(now) } }, '400 secret_not_set /settings/a/b'],
  ['a redaction inside a secret', { credentials: { pin: mark(now) } }, '400 secret_not_set /settings/credentials/pin'],
  ['$secret with other members', { a: { $secret: 'x', b: 1 } }, '400 invalid_settings /settings/a'],
  ['$secret inside $secret', { a: { $secret: { $secret: 'x' } } }, '400 invalid_settings /settings/a'],
  ['settings that are one secret', { $secret: 'x' }, '400 invalid_settings /settings'],
  ['settings that are a list', [], '400 invalid_settings /settings'],
  ['NUL', { 'a/b': 'x\0' }, '400 invalid_settings /settings/a~1b'],
  ['a number beyond a double', { a: JSON.parse('1e999') }, '400 invalid_settings /settings/a'],
  ['__proto__', JSON.parse('{"__proto__": {"a": 1}}'), '400 invalid_settings /settings'],
  ['a key of 257 characters', { a: { ['k'.repeat(257)]: 1 } }, '400 invalid_settings /settings/a'],
  ['a key of 257 characters inside a secret', { pin: { ['k'.repeat(257)]: 1 } }, '400 invalid_settings /settings/pin'],
  ['65 KiB', { a: 'x'.repeat(65 * 1024) }, '400 settings_too_large /settings'],
])('%s is refused', (_, input, code) => expect(codeOf(() => readSettings(input, now))).toBe(code))

test('a key of 256 code points is accepted; a longer stored key can be removed', () => {
  for (const character of ['k', '\u{1f600}']) {
    expect(codeOf(() => readSettings({ [character.repeat(256)]: 1 }, now))).toBe('accepted')
    expect(codeOf(() => readSettings({ [character.repeat(257)]: 1 }, now))).toMatch('invalid_settings')
  }
  const stored = { ['k'.repeat(300)]: 1, a: 1 }
  expect(mergeSettings(stored, { ['k'.repeat(300)]: null }, now)).toEqual({ a: 1 })
})

test('a patch may replace 64 KiB of settings and keep as many secrets', () => {
  const large = (prefix: string, value: Json) =>
    Object.fromEntries(Array.from({ length: 4_000 }, (_, index) => [`${prefix}${index}`, value]))
  const before = readSettings(large('a', { $secret: 'x' }), now)
  const kept = mergeSettings(before, redactSettings(before), later)
  expect(sameSettings(before, kept)).toBe(true)
  const replaced = mergeSettings(before, { ...large('a', null), ...large('b', 1) }, later)
  expect(replaced).toEqual(large('b', 1))
})

/** The least of several runs, in milliseconds: what others do on the machine meanwhile only adds to a run. */
function leastMs(run: () => unknown): number {
  const runs = Array.from({ length: 5 }, () => {
    const startedMs = performance.now()
    run()
    return performance.now() - startedMs
  })
  return Math.min(...runs)
}

test.each([
  ['digits', '1'],
  ['digits and points', '1.'],
  ['digits and spaces', '1 '],
  ['capitals', 'A'],
  ['letters', 'pas'],
])('a key of %s is read in time linear in its length', (_, part) => {
  const keyOf = (length: number) => part.repeat(length / part.length)
  const shortMs = leastMs(() => namesSecret(keyOf(12_000)))
  expect(leastMs(() => namesSecret(keyOf(120_000)))).toBeLessThan(30 * shortMs + 20)
})

test('settings that are too large are refused before any key is read', () => {
  const huge = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`${index}${'1'.repeat(20)}`, 1]))
  for (const input of [huge, { a: huge }, { a: [huge] }, { a: { $secret: huge } }, { a: Array(100_000).fill(1) }]) {
    expect(codeOf(() => readSettings(input as Json, now))).toMatch('settings_too_large')
    expect(codeOf(() => mergeSettings({}, input as Json, now))).toMatch('settings_too_large')
  }
  // A member that cannot be stored stands first: it would be named if it had been read.
  const unread = { a: 'x\0', b: 'x'.repeat(200_000) }
  expect(codeOf(() => readSettings(unread, now))).toBe('400 settings_too_large /settings')
})

test('accepts 16 levels and refuses 17, also inside a secret', () => {
  const nested = (levels: number, inner: Json): Json => (levels === 0 ? inner : { a: nested(levels - 1, inner) })
  expect(codeOf(() => readSettings(nested(16, 1), now))).toBe('accepted')
  expect(codeOf(() => readSettings(nested(17, 1), now))).toMatch('settings_too_deep')
  expect(codeOf(() => readSettings({ key: nested(15, 1) }, now))).toBe('accepted')
  expect(codeOf(() => readSettings({ key: nested(16, 1) }, now))).toMatch('settings_too_deep')
  const full = readSettings(nested(16, { $secret: 'x' }), now)
  expect(sameSettings(full, mergeSettings(full, redactSettings(full), later))).toBe(true)
})

const keys = fc.constantFrom('a', 'b', 'ssid', 'password', 'apiKey', 'x/y', 'm~n')
const { tree: anyJson } = fc.letrec<{ tree: Json; object: { [key: string]: Json } }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    fc.constantFrom<Json>(null, true, 0, 1.5, 'canary-value', ''),
    fc.record({ $secret: fc.constantFrom<Json>('canary-secret', 7, ['canary-secret']) }),
    fc.array(tie('tree'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(keys, tie('tree'), { maxKeys: 4, noNullPrototype: true }),
}))
const anySettings = fc.dictionary(keys, anyJson, { maxKeys: 4, noNullPrototype: true })

test('reading, redacting, restoring and revealing settings is lossless and redaction shows no secret', () => {
  fc.assert(
    fc.property(anySettings, (input) => {
      const settings = readSettings(input, now)
      const redacted = redactSettings(settings)
      expect(JSON.stringify(redacted)).not.toContain('canary-secret')
      const restored = restoreSecrets(JSON.parse(JSON.stringify(redacted)), new Map(listSecrets(settings)))
      expect(sameSettings(settings, restored)).toBe(true)
      expect(revealSecrets(restored)).toEqual(unwrapped(input))
    }),
  )
})

test('a patch with the settings as read changes nothing', () => {
  fc.assert(
    fc.property(anySettings, (input) => {
      const settings = mergeSettings({}, input, now)
      expect(sameSettings(settings, mergeSettings(settings, redactSettings(settings), later))).toBe(true)
    }),
  )
})

test('a merge follows RFC 7396, and a secret becomes plain only after its removal', () => {
  fc.assert(
    fc.property(anySettings, anySettings, (input, patch) => {
      const before = mergeSettings({}, input, now)
      const after = mergeSettings(before, patch, later)
      const secretPaths = new Set(listSecrets(before).map(([pointer]) => pointer))
      // A secret is one value: a patch replaces it whole and never merges into it.
      const opaque = JSON.parse(JSON.stringify(redactSettings(before)), (_, value) =>
        value?.$secret === undefined ? value : 'opaque',
      )
      expect(withoutKept(revealSecrets(after), before)).toEqual(
        withoutKept(mergePatch(opaque, unwrapped(patch)) as { [key: string]: Json }, before),
      )
      for (const pointer of secretPaths) {
        const value = at(after, pointer)
        if (value !== undefined && value !== null) expect(value).toBeInstanceOf(SettingsSecret)
      }
    }),
  )
})

const unwrapped = (input: Json): Json =>
  JSON.parse(JSON.stringify(input), (_, value) =>
    typeof value === 'object' && value !== null && '$secret' in value ? value.$secret : value,
  )

/** RFC 7396, section 2, as it is printed there. */
function mergePatch(target: Json, patch: Json): Json {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const isObject = typeof target === 'object' && target !== null && !Array.isArray(target)
  const result: { [key: string]: Json } = isObject ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = mergePatch(result[key] ?? null, value)
  }
  return result
}

const at = (tree: unknown, pointer: string): unknown =>
  pointer
    .split('/')
    .slice(1)
    .reduce<unknown>((inner, part) => {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      const isContainer = typeof inner === 'object' && inner !== null && !(inner instanceof SettingsSecret)
      return isContainer ? (inner as Record<string, unknown>)[key] : undefined
    }, tree)

/** Blanks what both sides hold at once-secret places, where one says "opaque" and the other the plain value. */
function withoutKept(settings: { [key: string]: Json }, before: ReturnType<typeof readSettings>) {
  const copy = structuredClone(settings)
  for (const [pointer, secret] of listSecrets(before)) {
    const parts = pointer.split('/').slice(1)
    const parent = at(copy, `/${parts.slice(0, -1).join('/')}`.replace(/^\/$/, '')) as Record<string, Json> | undefined
    const key = parts.at(-1)?.replaceAll('~1', '/').replaceAll('~0', '~') ?? ''
    if (!parent || typeof parent !== 'object') continue
    const value = parent[key]
    if (value === 'opaque' || JSON.stringify(value) === secret.reveal()) parent[key] = 'kept'
  }
  return copy
}
