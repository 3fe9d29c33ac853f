import { expect, test } from 'vitest'
import { multilineText, newTag, soughtText, text } from './schemas.ts'

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
