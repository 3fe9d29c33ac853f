import { parse } from 'csv-parse/sync'
import { describe, expect, test } from 'vitest'
import { csvLines } from './csv.ts'

describe('csvLines', () => {
  test.each([
    ['=1+1', "'=1+1"],
    ['@SUM(A1)', "'@SUM(A1)"],
    ['+1', "'+1"],
    ['-2', "'-2"],
    ['\t=1+1', "'\t=1+1"],
    ['=1,2', '"\'=1,2"'],
    ['a"b', '"a""b"'],
    ['bus;night', '"bus;night"'],
    ['two\r\nlines', '"two\r\nlines"'],
    ['plain', 'plain'],
    ['', ''],
    [-2, '-2'],
    [0, '0'],
    [false, 'false'],
    [null, ''],
    [[{ role: 'pcell' }], '"[{""role"":""pcell""}]"'],
  ])('writes %j as %s', (value, cell) => expect(csvLines([['first', value]])).toBe(`first,${cell}\r\n`))

  test('writes values that a CSV reader reads back unchanged', () => {
    const rows = [
      ['a,b', 'c"d', "it's", 'e\nf'],
      ['', 'g', '\u00e9', 'h;i'],
    ]
    expect(parse(csvLines(rows))).toEqual(rows)
    expect(csvLines([])).toBe('')
  })
})
