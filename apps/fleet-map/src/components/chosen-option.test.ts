import { expect, test } from 'vitest'
import { type Option, withChosen } from './chosen-option.ts'

const options: Option[] = [
  ['60', 'Last hour'],
  ['1440', 'Last 24 hours'],
]

test('a select has an option for every value that an address can have', () => {
  expect(withChosen(options, '')).toEqual(options)
  expect(withChosen(options, '60')).toEqual(options)
  expect(withChosen(options, '90', (value) => `Last ${value} minutes`)).toEqual([['90', 'Last 90 minutes'], ...options])
  expect(withChosen(options, '90')[0]).toEqual(['90', '90'])
})
