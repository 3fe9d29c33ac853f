import { expect, test } from 'vitest'
import { fieldMissing, readFieldBytes } from '../../../test/support/field.ts'
import { decodeFile, decodeUnicode } from '../src/file-encoding.ts'

const csv = 'serial;name\r\nÄ-1;Zürich “Süd”\r\n'

test('UTF-8 and UTF-16 are read, with and without a byte order mark', () => {
  const utf16 = (text: string) => Buffer.from(text, 'utf16le')
  const marked = `\ufeff${csv}`
  for (const bytes of [csv, marked].flatMap((text) => [Buffer.from(text), utf16(text), utf16(text).swap16()])) {
    expect(decodeFile(bytes)).toEqual({ text: csv })
    expect(decodeUnicode(bytes)).toBe(csv)
  }
  expect(decodeFile(Buffer.alloc(0))).toEqual({ text: '' })
})

test('other bytes are read as Windows-1252, with the first text that shows it', () => {
  const bytes = Buffer.from('serial,name\n1,"Bus",\n2, M\xfcnchen \x80 5,R\n', 'latin1')
  expect(decodeFile(bytes)).toEqual({ text: 'serial,name\n1,"Bus",\n2, München € 5,R\n', example: 'München € 5' })
  // Truncated UTF-8.
  expect(decodeFile(Buffer.from('name\nZü').subarray(0, -1))).toMatchObject({ example: 'ZÃ' })
  expect(decodeUnicode(bytes)).toBeUndefined()
})

test('a file of the field in Windows-1252 has its names', (context) => {
  if (fieldMissing !== null) return context.skip(fieldMissing)
  const { text, example } = decodeFile(readFieldBytes('csv-windows-1252.csv'))
  expect([example, text]).toEqual(['Zürich Süd', expect.stringContaining('CLI-1252;Zürich Süd;RX;a')])
})
