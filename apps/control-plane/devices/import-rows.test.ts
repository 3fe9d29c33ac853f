import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { exportColumns } from './export-rows.ts'
import { readImportRows } from './import-rows.ts'

const mebibyte = 1024 ** 2

const slow: [what: string, format: 'csv' | 'ndjson', text: string, leastTurns: number][] = [
  ['a mebibyte of CSV', 'csv', `serial,name,model,tags\n${`s,n,m,${'t;'.repeat(380)}\n`.repeat(1_300)}`, 32],
  ['wrong rows', 'ndjson', '{}\n'.repeat(9_999), 2],
]

describe('the rows of an import', () => {
  test.each(slow)('%s: other work goes on while they are read', async (_what, format, text, leastTurns) => {
    let turns = 0
    let isReading = true
    const others = (async () => {
      while (isReading) {
        await nextTurn()
        turns += 1
      }
    })()
    await readImportRows(text, format)
    isReading = false
    await others
    expect(turns).toBeGreaterThan(leastTurns)
  })

  test('a CSV record without an end is rejected with its line', async () => {
    const file = `serial,name,model\na,b,c\n"${'x,'.repeat(100_000)}`
    await expect(readImportRows(file, 'csv')).rejects.toMatchObject({ status: 400, code: 'invalid_csv' })
  })

  test('a CSV record of millions of empty cells is rejected with its line, before it is parsed', async () => {
    let turns = 0
    let isReading = true
    const others = (async () => {
      while (isReading) {
        await nextTurn()
        turns += 1
      }
    })()
    const reading = readImportRows(`serial,name,model\na,b,c\n${','.repeat(8 * mebibyte)}`, 'csv')
    await expect(reading).rejects.toMatchObject({ code: 'invalid_csv', message: expect.stringContaining('Line 3.') })
    isReading = false
    await others
    // The file has 512 slices, of which each takes a turn.
    expect(turns).toBeLessThan(100)
  })

  test('surrogate pairs are preserved at any position', async () => {
    const names = Array.from({ length: 2 }, (_, shift) => `${'x'.repeat(shift)}${'😀'.repeat(90)}`)
    const lines = Array.from({ length: 200 }, (_, row) => `s${row},${names[row % 2]},m`)
    const rows = await readImportRows(`serial,name,model\n${lines.join('\n')}`, 'csv')
    expect(rows.map((row) => 'device' in row && row.device.name)).toEqual(lines.map((_, row) => names[row % 2]))
  })

  test('an NDJSON line that is too long fails alone and is not parsed', async () => {
    const good = '{"serial":"a","name":"b","model":"c"}'
    const long = `{"serial":"a","name":"b","model":"c","tags":[${'"t",'.repeat(100_000)}"t"]}`
    expect(await readImportRows(`${good}\n${long}\r\n \n${good}`, 'ndjson')).toEqual([
      { line: 1, hasTags: false, device: { serial: 'a', name: 'b', model: 'c', tags: [] } },
      { line: 2, code: 'invalid_row', detail: 'This line is longer than 65536 characters.' },
      { line: 4, hasTags: false, device: { serial: 'a', name: 'b', model: 'c', tags: [] } },
    ])
  })

  test('columns can be separated by semicolons or tabs; then commas separate tags, too', async () => {
    const device = { serial: 'a', name: 'Bus, 1', model: 'c', tags: ['bus', 'night'] }
    const expected = [{ line: 2, hasTags: true, device }]
    expect(await readImportRows('serial;name;model;tags\r\na;Bus, 1;c;"bus;night"\r\n', 'csv')).toEqual(expected)
    expect(await readImportRows('serial;name;model;tags\na;Bus, 1;c;bus,night\n', 'csv')).toEqual(expected)
    expect(await readImportRows('serial\tname\tmodel\ttags\na\tBus, 1\tc\tbus,night\n', 'csv')).toEqual(expected)
  })

  test('the columns of an export are accepted, and those that cannot be set are ignored', async () => {
    const text = `${exportColumns.join(',')}\r\n1,2,'=a,"Bus, 1",c,bus;night,online,,,,,,,,,\r\n`
    const device = { serial: '=a', name: 'Bus, 1', model: 'c', tags: ['bus', 'night'] }
    expect(await readImportRows(text, 'csv')).toEqual([{ line: 2, hasTags: true, device }])
  })

  test('each mistake is a sentence with the line of the file, also after a cell with line breaks', async () => {
    const long = 'x'.repeat(201)
    const text = `serial,name,model\n"a","two\nlines",m\n\nb,,m\nc,${long},m\n,n\n`
    const rows = await readImportRows(text, 'csv')
    expect(rows.map((row) => [row.line, 'detail' in row && row.detail])).toEqual([
      [3, 'name: Control characters are not allowed.'],
      [5, 'name is empty.'],
      [6, 'name is longer than 200 characters.'],
      [7, 'serial is empty. model is missing.'],
    ])
  })

  test('more than 10,000 rows are rejected before all are read', async () => {
    const rows = '{"serial":"a","name":"b","model":"c"}\n'.repeat(20_000)
    await expect(readImportRows(rows, 'ndjson')).rejects.toMatchObject({ status: 413, code: 'too_many_rows' })
    const csv = `serial,name,model\n${'a,b,c\n'.repeat(20_000)}`
    await expect(readImportRows(csv, 'csv')).rejects.toMatchObject({ status: 413, code: 'too_many_rows' })
  })
})
