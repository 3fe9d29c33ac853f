import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Device } from '#fleet/devices/device'
import { fieldMissing, readField } from '#test/field'
import { exportColumns, exportFormat } from './export-rows.ts'
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

  test.each(['sep=;', 'SEP=,', 'sep=\t', '\ufeffsep=;', '"sep=;"'])('%j names the separator', async (line) => {
    const separator = line.includes('\t') ? '\t' : line.includes(',') ? ',' : ';'
    const rows = [
      ['serial', 'name', 'model'],
      ['a', 'Bus', 'c'],
      ['b', '', 'c'],
    ].map((row) => row.join(separator))
    expect(await readImportRows([line, ...rows].join('\r\n'), 'csv')).toEqual([
      { line: 3, hasTags: false, device: { serial: 'a', name: 'Bus', model: 'c', tags: [] } },
      { line: 4, code: 'invalid_row', detail: 'name is empty.' },
    ])
  })

  test('the columns of an export are accepted, and those that cannot be set are ignored', async () => {
    const text = `${exportColumns.join(',')}\r\n1,2,'=a,"Bus, 1",c,bus;night,online${','.repeat(exportColumns.length - 7)}\r\n`
    const device = { serial: '=a', name: 'Bus, 1', model: 'c', tags: ['bus', 'night'], notes: '' }
    expect(await readImportRows(text, 'csv')).toEqual([{ line: 2, hasTags: true, device }])
  })

  test.each(['\n', '\r\n'])(
    'each mistake is a sentence with the line of the file, also after a cell with line breaks %j',
    async (lineBreak) => {
      const long = 'x'.repeat(201)
      const text = `serial,name,model\n"a","two\nlines",m\n\nb,,m\nc,${long},m\n,n\n`
      const rows = await readImportRows(text.replaceAll('\n', lineBreak), 'csv')
      expect(rows.map((row) => [row.line, 'detail' in row && row.detail])).toEqual([
        [3, 'name: Control characters are not allowed.'],
        [5, 'name is empty.'],
        [6, 'name is longer than 200 characters.'],
        [7, 'serial is empty. model is missing.'],
      ])
    },
  )

  test('an exported NDJSON file is accepted, and only its members that cannot be set are ignored', async () => {
    const device = { serial: 'a', name: 'Bus, 1', model: 'c', tags: ['bus'], notes: null }
    const seen = { status: 'online', lastSeenAt: null, firmware: null, configProfile: null, location: null, near: null }
    const exported = { id: '1', organizationId: '2', ...device, ...seen, createdAt: 't', updatedAt: 't' }
    const { lines } = exportFormat('ndjson', ['near'])
    const file = lines([exported, { ...exported, serial: 'b', nmae: 'x' }] as unknown as Device[])
    expect(await readImportRows(file, 'ndjson')).toEqual([
      { line: 1, hasTags: true, device },
      { line: 2, code: 'invalid_row', detail: 'There is no column nmae.' },
    ])
    const typed = JSON.stringify({ organizationId: '2', serial: 'a', name: 'n', model: 'm' })
    expect(await readImportRows(typed, 'ndjson')).toMatchObject([{ detail: 'There is no column organizationId.' }])
  })

  test.each(['csv', 'ndjson'] as const)('an import reads what an export to %s has written', async (format) => {
    const sign = fc.constantFrom(...`=+-@'"；;,\\＝＠ abü0`)
    const words = fc.string({ unit: sign, minLength: 1, maxLength: 8 }).filter((text) => /^\S+( \S+)*$/.test(text))
    const device = fc.record({
      serial: words,
      name: words,
      model: words,
      tags: fc.uniqueArray(words, { maxLength: 4 }),
      notes: fc.array(words, { maxLength: 3 }).map((lines) => lines.join('\n')),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(device, { minLength: 1 }), async (devices) => {
        const { head, lines } = exportFormat(format, [])
        const made = { id: '1', organizationId: '2', createdAt: '2026-05-04T12:30:00.000Z' }
        const file = head + lines(devices.map((one) => ({ ...one, ...made }) as Device))
        const rows = await readImportRows(file, format)
        expect(rows.map((row) => 'device' in row && row.device)).toEqual(devices)
      }),
    )
  })

  test('a row and the last columns without content are skipped; names of columns can have any case', async () => {
    const text = 'Serial, NAME ,model,TAGS,configprofileID,,\r\nA,Bus,R,a,7,,\r\n,,,,,,\r\n , ,,\r\n;,,\r\nB,Bus,R\r\n'
    const device = { name: 'Bus', model: 'R' }
    expect(await readImportRows(text, 'csv')).toEqual([
      { line: 2, hasTags: true, device: { serial: 'A', ...device, tags: ['a'] } },
      { line: 5, code: 'invalid_row', detail: 'name is empty. model is empty.' },
      { line: 6, hasTags: true, device: { serial: 'B', ...device, tags: [] } },
    ])
    for (const first of ['\n', ' \r\n', ';;\n', '\ufeff\n\n', '""\n'])
      expect(await readImportRows(`${first}serial;name;model\nB;Bus;R\n`, 'csv')).toMatchObject([
        { device: { serial: 'B', ...device } },
      ])
    const surplus = await readImportRows('serial,name,model,,\nA,Bus,R,,x\n', 'csv')
    expect(surplus).toMatchObject([{ detail: 'The row has surplus cells: more than the first line has columns.' }])
  })

  test('quotes inside a cell are text, and a text formula is its text', async () => {
    const rows = ['="0012",Mast 12" high,5 1/4",a"b;"c', '"=""0""""1""","say ""hi""",R,"""x;y"" ;z"']
    expect(await readImportRows(['serial,name,model,tags', ...rows].join('\n'), 'csv')).toMatchObject([
      { device: { serial: '0012', name: 'Mast 12" high', model: '5 1/4"', tags: ['a"b', '"c'] } },
      { device: { serial: '0"1', name: 'say "hi"', model: 'R', tags: ['x;y', 'z'] } },
    ])
  })

  test.each(['8.61234E+14', '8,61234e+14', '1E+15', '-2.5E-7'])(
    'the serial %s is refused with the reason',
    async (serial) => {
      const failed = [{ detail: expect.stringContaining(`serial: ${serial} is a number in scientific notation`) }]
      expect(await readImportRows(`serial;name;model\n${serial};Bus;R\n`, 'csv')).toMatchObject(failed)
      const line = JSON.stringify({ serial, name: 'Bus', model: 'R' })
      expect(await readImportRows(line, 'ndjson')).toMatchObject(failed)
    },
  )

  test.each(['12E5', '1E10', 'E+5', '861234567890123'])('the serial %s is accepted', async (serial) => {
    expect(await readImportRows(`serial,name,model\n${serial},Bus,R\n`, 'csv')).toMatchObject([{ device: { serial } }])
  })

  test('another type than text is named', async () => {
    const rows = [
      { serial: 12 },
      { serial: null },
      { serial: true },
      { serial: ['a'] },
      {},
      { tags: 'a' },
      { tags: [1] },
    ]
    const text = rows.map((row) => JSON.stringify({ serial: 's', name: 'n', model: 'm', ...row })).join('\n')
    const read = await readImportRows(`${text}\n{"name":"n","model":"m"}\n[]`, 'ndjson')
    expect(read.map((row) => 'detail' in row && row.detail)).toEqual([
      'serial must be text in quotes, not the number 12.',
      'serial must be text in quotes, not null.',
      'serial must be text in quotes, not the boolean true.',
      'serial must be text in quotes, not a list.',
      false,
      'tags must be a list, not text.',
      'A tag must be text in quotes, not the number 1.',
      'serial is missing.',
      'The row must be an object, not a list.',
    ])
  })

  test('files of the field give their rows, or the reason of each', async (context) => {
    if (fieldMissing !== null) return context.skip(fieldMissing)
    const counts = async (file: string) => {
      const rows = await readImportRows(readField(file), 'csv')
      return [rows.filter((row) => 'device' in row).length, rows.filter((row) => 'code' in row).length]
    }
    expect(await counts('csv-blank-rows.csv')).toEqual([1, 0])
    expect(await counts('csv-trailing-columns.csv')).toEqual([1, 0])
    expect(await counts('csv-inch-mark.csv')).toEqual([2, 0])
    expect(await counts('csv-excel-scientific.csv')).toEqual([0, 3])
  })

  test('more than 10,000 rows are rejected before all are read', async () => {
    const rows = '{"serial":"a","name":"b","model":"c"}\n'.repeat(20_000)
    await expect(readImportRows(rows, 'ndjson')).rejects.toMatchObject({ status: 413, code: 'too_many_rows' })
    const csv = `serial,name,model\n${'a,b,c\n'.repeat(20_000)}`
    await expect(readImportRows(csv, 'csv')).rejects.toMatchObject({ status: 413, code: 'too_many_rows' })
  })
})
