import { expect, test } from 'vitest'
import { jsonValue, typedValue } from './json-value.ts'

test.each([
  ['42', 42],
  [' -0.5 ', -0.5],
  ['true', true],
  ['"42"', '42'],
  ['{"vlan": 1.10, "ids": ["89310410106543789301"]}', { vlan: 1.1, ids: ['89310410106543789301'] }],
  ['depot', 'depot'],
])('%s is JSON, or else a text', (text, value) => {
  expect(typedValue(text)).toEqual(value)
})

test.each(['89310410106543789301', '12e456', '1.10', '1e3', '-0', '0042', '+31612345678'])(
  '%s keeps its digits',
  (text) => {
    expect(typedValue(text)).toBe(text)
  },
)

test.each(['{"iccid": 89310410106543789301}', '["\\"", -9007199254740993]', '{"a": [{"b": 12e456}]}'])(
  '%s is refused, because its number would change',
  (text) => {
    for (const read of [typedValue, jsonValue])
      expect(() => read(text)).toThrow(/^The number -?[\de]+ has too many digits\. Write it as a text: "/)
  },
)

test('what is not JSON is refused where only JSON is expected', () => {
  expect(() => jsonValue('{')).toThrow(/^The data is not JSON: /)
  expect(jsonValue('{"ssid": "1 89310410106543789301"}')).toEqual({ ssid: '1 89310410106543789301' })
})
