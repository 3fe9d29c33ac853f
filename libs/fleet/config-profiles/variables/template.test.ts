// biome-ignore-all lint/suspicious/noTemplateCurlyInString: settings refer to variables in this form.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readSettings, readVariables } from '#fleet/config-profiles/settings'
import { type Json, redactSettings, revealSecrets, type SettingsObject } from '#fleet/config-profiles/settings-tree'
import { renderSettings, type VariableValue, variablesOf } from '#fleet/config-profiles/variables/template'

const now = Date.UTC(2026, 0, 2, 3, 4, 5)
const updatedAt = new Date(now).toISOString()

const valuesOf = (variables: { [name: string]: Json }): Map<string, VariableValue> =>
  new Map(Object.entries(readVariables({}, variables, now)).map(([name, value]) => [name, { value, updatedAt }]))

function render(settings: Json, variables: { [name: string]: Json }) {
  const { settings: rendered, missing } = renderSettings(readSettings(settings, now), valuesOf(variables))
  return { plain: revealSecrets(rendered), shown: redactSettings(rendered), missing }
}

const set = { $secret: { set: true, updatedAt } }

test('references and placeholders get their values, with the types of the values', () => {
  const settings = {
    wifi: { ssid: { $var: 'wifi_ssid' }, channel: { $var: 'channel', default: 6 } },
    hosts: ['${device.name}.example', { $var: 'hosts' }],
    banner: 'Vehicle ${number}: ${is_night}, ${hosts}, $${number} and ${ number } stay',
  }
  const variables = { wifi_ssid: 'depot', number: 17, is_night: true, hosts: ['a', 'b'] }
  const withName = { ...variables }
  const values = valuesOf(withName).set('device.name', { value: 'bus-17', updatedAt })
  const { settings: rendered, missing } = renderSettings(readSettings(settings, now), values)
  expect(rendered).toEqual({
    wifi: { ssid: 'depot', channel: 6 },
    hosts: ['bus-17.example', ['a', 'b']],
    banner: 'Vehicle 17: true, ["a","b"], ${number} and ${ number } stay',
  })
  expect(missing).toEqual([])
})

test('a value that is used for a secret is never shown', () => {
  const settings = {
    wifi: { password: { $var: 'code' }, psk: '${word}-${code}', other: { $secret: { $var: 'code' } } },
    note: 'The code is ${word}',
    plain: '${code}',
  }
  const { plain, shown, missing } = render(settings, { code: 'abc', word: { $secret: 'w1' } })
  expect(missing).toEqual([])
  expect(plain).toEqual({
    wifi: { password: 'abc', psk: 'w1-abc', other: 'abc' },
    note: 'The code is w1',
    plain: 'abc',
  })
  expect(shown).toEqual({ wifi: { password: set, psk: set, other: set }, note: set, plain: 'abc' })
})

test('a reference at the key of a secret is shown, and its default is not', () => {
  const settings = readSettings({ password: { $var: 'wifi_password', default: 'w1' } }, now)
  expect(redactSettings(settings)).toEqual({ password: { $var: 'wifi_password', default: set } })
  expect(revealSecrets(renderSettings(settings, new Map()).settings)).toEqual({ password: 'w1' })
})

test('missing names are listed once, sorted, and their references stay', () => {
  const settings = { b: '${beta}', a: [{ $var: 'alpha' }, '${beta}'], c: { $var: 'gamma', default: null } }
  expect(render(settings, {})).toMatchObject({
    missing: ['alpha', 'beta'],
    plain: { b: '${beta}', a: [{ $var: 'alpha' }, '${beta}'], c: null },
  })
})

test('settings without references are sent as they are', () => {
  expect(variablesOf(readSettings({ a: '$5 {x} ${} ${1}', b: { var: 'x' } }, now))).toBeUndefined()
  expect(variablesOf(readSettings({ a: '$${x}' }, now))?.size).toBe(0)
})

test('a variable counts as required if one of its uses has no default', () => {
  const settings = readSettings(
    { a: { $var: 'x', default: 1 }, b: '${x}${y}', c: { $var: 'z', default: 1 }, pin: '${y}' },
    now,
  )
  expect(Object.fromEntries(variablesOf(settings) ?? [])).toEqual({
    x: { uses: 2, required: true },
    y: { uses: 2, required: true },
    z: { uses: 1, required: false },
  })
})

const name = fc.constantFrom('a', 'b_1', 'c-d', 'e.f')
const literal = fc.oneof(fc.string(), fc.integer(), fc.boolean())

test('what is rendered with all values misses nothing and has no reference', () => {
  const leaf = fc.oneof(
    literal,
    fc.record({ $var: name }),
    fc.tuple(fc.string(), name).map(([text, used]) => `${text.replaceAll('$', '')}\${${used}}`),
  )
  const tree = fc.dictionary(
    fc.string({ maxLength: 8 }),
    fc.oneof(leaf, fc.array(leaf), fc.dictionary(fc.constantFrom('k', 'pin'), leaf)),
  )
  const values = fc.record({ a: literal, b_1: literal, 'c-d': literal, 'e.f': literal })
  fc.assert(
    fc.property(tree, values, (input, variables) => {
      fc.pre(!Object.hasOwn(input, '__proto__') && !Object.keys(input).some((key) => key.startsWith('$')))
      const settings = readOrSkip(input as Json)
      const { settings: rendered, missing } = renderSettings(settings, valuesOf(variables))
      expect(missing).toEqual([])
      expect(JSON.stringify(revealSecrets(rendered))).not.toContain('"$var"')
      const used = [...(variablesOf(settings)?.keys() ?? [])]
      expect(renderSettings(settings, new Map()).missing).toEqual(used.sort())
    }),
  )
})

/** Texts that cannot be stored are no case of this property. */
function readOrSkip(input: Json): SettingsObject {
  try {
    return readSettings(input, now)
  } catch {
    return fc.pre(false) as never
  }
}

test.each<[string, Json, string]>([
  ['another member beside $var', { a: { $var: 'x', other: 1 } }, '/settings/a'],
  ['a name that is no text', { a: { $var: 1 } }, '/settings/a'],
  ['an invalid name', { a: [{ $var: 'no spaces' }] }, '/settings/a/0'],
  ['an invalid reference inside a secret', { pin: { $secret: { $var: '' } } }, '/settings/pin'],
  ['an unknown built-in variable', { a: { $var: 'device.color' } }, '/settings/a'],
  ['an unknown built-in variable in a text', { a: 'x ${device.color}' }, '/settings/a'],
  ['settings that are one reference', { $var: 'x' }, '/settings'],
])('%s is refused', (_, input, pointer) => {
  expect(() => readSettings(input, now)).toThrowError(
    expect.objectContaining({ status: 400, code: 'invalid_settings', errors: [expect.objectContaining({ pointer })] }),
  )
})

test('a variable cannot refer to a variable; a text in it that looks so is plain', () => {
  expect(() => readVariables({}, { a: { b: { $var: 'c' } } }, now)).toThrowError(
    expect.objectContaining({ errors: [expect.objectContaining({ pointer: '/variables/a/b' })] }),
  )
  expect(render({ x: '${a}' }, { a: '${b}' })).toMatchObject({ plain: { x: '${b}' }, missing: [] })
})
