import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseLineProtocol } from './line-protocol.ts'

const parse = (text: string) => [...parseLineProtocol(text)]
const one = (text: string) => parse(text)[0]

test('reads measurement, tags, fields and timestamp', () => {
  expect(parse('cellular,host=r1,rat=lte rsrpDbm=-95.5,pci=12i,up=t,band="B20" 1700000000000000000\n')).toEqual([
    {
      line: 1,
      measurement: 'cellular',
      tags: [
        ['host', 'r1'],
        ['rat', 'lte'],
      ],
      fields: [
        ['rsrpDbm', -95.5],
        ['pci', 12],
        ['up', true],
        ['band', 'B20'],
      ],
      timestamp: '1700000000000000000',
    },
  ])
})

test.each([
  ['m a=1', 1],
  ['m a=-1.5e3', -1500],
  ['m a=1e3', 1000],
  ['m a=12i', 12],
  ['m a=12u', 12],
  ['m a=F', false],
  ['m a=True', true],
  ['m a="x y,z=1"', 'x y,z=1'],
  ['m a="say \\"hi\\" \\\\ \\n"', 'say "hi" \\ \\n'],
  ['m a="two\nlines"', 'two\nlines'],
  ['m a=""', ''],
])('reads the value of %j', (line, value) => {
  expect(one(line)).toMatchObject({ fields: [['a', value]] })
})

test('reads escaped commas, equals signs and spaces, and keeps other backslashes', () => {
  expect(one('my\\ m\\,x,t\\=a\\ b=v\\,w f\\ 1=1')).toMatchObject({
    measurement: 'my m,x',
    tags: [['t=a b', 'v,w']],
    fields: [['f 1', 1]],
  })
  expect(one('C:\\dir a=1')).toMatchObject({ measurement: 'C:\\dir' })
})

test('skips comments and empty lines, and reads every kind of line end', () => {
  expect(
    parse('# comment\n\n  \nm a=1 1\r\nm a=2\r\n  m a=3 3 \n').map((point) => [point.line, 'fields' in point]),
  ).toEqual([
    [4, true],
    [5, true],
    [6, true],
  ])
})

test.each([
  ['m', 'missing fields'],
  ['m ', 'missing fields'],
  ['m,t=1', 'missing fields'],
  [',t=1 a=1', 'missing measurement'],
  ['m,t a=1', 'missing tag key or value'],
  ['m,t= a=1', 'missing tag value'],
  ['m a', 'invalid field format'],
  ['m a=', 'missing field value'],
  ['m a=1,', 'invalid field format'],
  ['m a=1x', 'invalid field value'],
  ['m a=0x10', 'invalid field value'],
  ['m a=NaN', 'invalid field value'],
  ['m a="x', 'unbalanced quotes'],
  ['m a="x"y', 'invalid field format'],
  ['m a=1 now', 'invalid timestamp'],
  ['m a=1 1 1', 'invalid field format'],
  ['m a=1 123456789012345678901', 'invalid timestamp'],
])('reports %j as %s', (line, reason) => {
  expect(one(line)).toEqual({ line: 1, text: line.trimEnd() === line ? line : expect.any(String), reason })
})

test('continues after a broken line', () => {
  const found = parse('m a="x\nm a=2\nnonsense\nm a=3')
  expect(
    found.map((point) => ('reason' in point ? [point.line, point.reason] : [point.line, point.fields[0]?.[1]])),
  ).toEqual([
    [1, 'unbalanced quotes'],
    [2, 2],
    [3, 'missing fields'],
    [4, 3],
  ])
})

test('what is written can be read again', () => {
  const name = fc.string({ minLength: 1 }).filter((text) => !/[\\\r\n#"]/.test(text) && text.trim() !== '')
  const escaped = (text: string) => text.replaceAll(/[,= ]/g, '\\$&')
  fc.assert(
    fc.property(
      name,
      name,
      fc.string(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).filter((number) => !Object.is(number, -0)),
      (measurement, key, text, value) => {
        const quoted = text.replaceAll(/["\\]/g, '\\$&')
        const [point, ...more] = parse(`${escaped(measurement)} ${escaped(key)}="${quoted}",n=${value} 7\nm a=1`)
        expect(more).toHaveLength(1)
        expect(point).toMatchObject({
          measurement,
          fields: [
            [key, text],
            ['n', value],
          ],
          timestamp: '7',
        })
      },
    ),
  )
})

test('any text takes bounded work and gives points or broken lines', () => {
  const piece = fc.constantFrom('m', ',', '=', ' ', '"', '\\', '\n', '\r', '1', 'i', 't', '#', '-')
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 200 }), (pieces) => {
      const text = pieces.join('')
      expect(parse(text).length).toBeLessThanOrEqual(text.split('\n').length)
    }),
  )
})
