import { expect, test } from 'vitest'
import { newRow, rowsOf, variablesOf } from './variable-rows.ts'

const set = { $secret: { set: true, updatedAt: '2026-01-02T03:04:05.000Z' } }

test('variables that nobody changed are the same again', () => {
  const variables = { text: 'depot', number: 7, list: ['a', { b: set }], pin: set, digits: '0042', empty: '' }
  expect(variablesOf(rowsOf(variables))).toEqual({ variables })
})

test('a new secret replaces one that is set, and rows without a name and value do not count', () => {
  const [pin] = rowsOf({ pin: set })
  const rows = [{ ...pin, text: '1234' } as never, newRow(), newRow({ name: ' ssid ', text: 'depot' })]
  expect(variablesOf(rows)).toEqual({ variables: { pin: { $secret: '1234' }, ssid: 'depot' } })
})

test('what is wrong is said at its row', () => {
  const rows = [
    newRow({ text: 'x' }),
    newRow({ name: 'a', kind: 'json', text: '{' }),
    newRow({ name: 'a' }),
    newRow({ name: 'b', kind: 'secret' }),
    newRow({ name: 'c', kind: 'json', text: 'null' }),
  ]
  const pointer = (part: string, index: number) => `/${part}-${rows[index]?.id}`
  expect(variablesOf(rows)).toMatchObject({
    faults: [
      { pointer: pointer('name', 0), detail: 'Enter a name.' },
      { pointer: pointer('value', 1), detail: expect.stringContaining('Enter JSON') },
      { pointer: pointer('name', 2), detail: 'Another row has this name.' },
      { pointer: pointer('value', 3), detail: 'Enter the secret.' },
      { pointer: pointer('value', 4), detail: expect.stringContaining('Enter JSON') },
    ],
  })
})
