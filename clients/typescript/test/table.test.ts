import { expect, test } from 'vitest'
import { table } from '../src/cli/table.ts'

test('columns are aligned, also with wide characters, and missing values are dashes', () => {
  expect(
    table(
      ['NAME', 'TAGS'],
      [
        ['北京站', 2],
        ['Bus', null],
        ['', true],
      ],
    ),
  ).toBe(['NAME    TAGS', '北京站  2', 'Bus     -', '-       true'].join('\n'))
})

test('a name cannot control the terminal', () => {
  expect(table(['NAME'], [['\u001b[2Jgone\u009b']])).toBe('NAME\n [2Jgone')
})

test('an empty list is a sentence', () => {
  expect(table(['NAME'], [])).toBe('None.')
})
