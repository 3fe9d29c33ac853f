import { expect, test } from 'vitest'
import { z } from 'zod'
import { instantText, multilineText, newTag, numberIn, soughtText, text } from './schemas.ts'

const refused = [
  '00AD',
  '034F',
  '115F',
  '1160',
  '17B4',
  '180B',
  '180F',
  '200B',
  '3164',
  'FE00',
  'FE0E',
  'FEFF',
  'FFA0',
  'FFF9',
]

test.each([...refused, 'E0001', 'E0041', 'E01EF', 'E0FFF'])(
  'new names and tags cannot have the invisible U+%s',
  (code) => {
    const value = `a${String.fromCodePoint(Number.parseInt(code, 16))}b`
    const detail = `Invisible characters are not allowed: U+${code}.`
    for (const schema of [text(), newTag()]) expect(schema.safeParse(value).error?.issues[0]?.message).toBe(detail)
    expect(soughtText(200).parse(value)).toBe(value)
  },
)

test.each(['☎️ 1', '😀', 'ᄀ가', 'ភាសា', 'ᠮᠣᠩ', 'ｱ'])('the text %s is accepted', (value) => {
  expect(text().parse(value)).toBe(value.normalize())
})

test('a text of several lines keeps tabs and line breaks, which become line feeds, and refuses other control characters', () => {
  const schema = multilineText(8)
  expect(schema.parse(' a\r\nb\rc\n\td ')).toBe('a\nb\nc\n\td')
  expect(schema.parse(' \n ')).toBe('')
  expect(schema.safeParse('a\r\n'.repeat(5)).success).toBe(false)
  for (const control of ['\0', '\u0007', '\u000b', '\u007f', '\u0085'])
    expect(schema.safeParse(`a${control}b`).error?.issues[0]?.message).toBe('Control characters are not allowed.')
  expect(schema.safeParse('a\n\u202eb').error?.issues[0]?.message).toBe('Invisible characters are not allowed: U+202E.')
})

test('a semicolon is refused in tags, and half a surrogate pair everywhere', () => {
  expect(newTag().safeParse('a;b').error?.issues[0]?.message).toBe('Semicolons are not allowed.')
  for (const schema of [text(), newTag(), soughtText(200)]) expect(schema.safeParse('a\ud83d').success).toBe(false)
})

test.each([
  ['2026-11-30T04:00:00+01:00', '2026-11-30T03:00:00.000Z'],
  ['2026-11-30t03:00:00.1z', '2026-11-30T03:00:00.100Z'],
  ['2026-11-30 03:00:00.1239Z', '2026-11-30T03:00:00.123Z'],
  ['2016-12-31T23:59:60Z', '2017-01-01T00:00:00.000Z'],
])('the time %j of a request is %s', (sent, read) => expect(instantText().parse(sent)).toBe(read))

test.each(['2026-11-30', '2026-11-30T03:00Z', '2026-11-30T03:00:00', '2026-02-29T00:00:00Z', '1796000000000', ''])(
  '%j is no time of a request',
  (sent) => {
    const [issue] = instantText().safeParse(sent).error?.issues ?? []
    expect(issue?.message).toBe('Must be a time such as 2026-01-31T12:00:00Z.')
  },
)

const zoom = numberIn(z.number().min(0).max(24)).optional()

test('a number of a query is decimal', () => {
  expect(['0', '4.5', '-0', '1e1', '.5', undefined].map((sent) => zoom.parse(sent))).toEqual([
    0,
    4.5,
    -0,
    10,
    0.5,
    undefined,
  ])
  for (const sent of ['', ' ', ' 5', '0x10', '0b1', '1e400', 'NaN', 'Infinity', '1,5', '1_0', '25', '-1', ['1', '2']])
    expect(zoom.safeParse(sent), JSON.stringify(sent)).toMatchObject({ success: false })
})
