import { expect, test } from 'vitest'
import { type CheckedField, faultOf } from './field-checks.ts'

const right = {
  valueMissing: false,
  badInput: false,
  typeMismatch: false,
  patternMismatch: false,
  tooShort: false,
  rangeUnderflow: false,
  rangeOverflow: false,
  stepMismatch: false,
}

const field = (wrong: Partial<typeof right>, more: Partial<CheckedField> = {}): CheckedField => ({
  ...{ type: 'text', value: 'x', title: '', dataset: {} },
  ...more,
  validity: { ...right, ...wrong },
})

test.each([
  ['nothing', field({}), undefined],
  ['an empty text', field({ valueMissing: true }, { required: true, value: '' }), 'Fill in this field.'],
  ['blanks', field({}, { required: true, value: '  ' }), 'Fill in this field.'],
  ['no choice', field({ valueMissing: true }, { type: 'select-one' }), 'Choose one.'],
  [
    'an empty field with a sentence of its own',
    field({ valueMissing: true }, { dataset: { empty: 'Choose a group.' } }),
    'Choose a group.',
  ],
  ['half a number', field({ badInput: true, valueMissing: true }, { type: 'number', value: '' }), 'Enter a number.'],
  ['half a date', field({ badInput: true }, { type: 'datetime-local', value: '' }), 'Enter a complete date and time.'],
  [
    'an e-mail address without @',
    field({ typeMismatch: true }, { type: 'email' }),
    'Enter an e-mail address, such as ada@example.com.',
  ],
  [
    'a text of another form',
    field({ patternMismatch: true }, { title: 'A checksum has 64 digits.' }),
    'A checksum has 64 digits.',
  ],
  ['a short text', field({ tooShort: true }, { minLength: 2 }), 'Enter at least 2 characters.'],
  ['a large number', field({ rangeOverflow: true }, { min: '-5', max: '10080' }), 'Enter a number from -5 to 10,080.'],
  ['a negative number', field({ rangeUnderflow: true }, { min: '0', max: '' }), 'Enter 0 or more.'],
  ['a part of a number', field({ stepMismatch: true }), 'Enter a whole number.'],
])('says what is wrong with %s', (_, checked, sentence) => {
  expect(faultOf(checked)).toBe(sentence)
})
