import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  type ByteRecord,
  byteIn,
  bytesIn,
  choiceIn,
  countIn,
  createByteRecord,
  flagIn,
  listIn,
  longIn,
  nullableIn,
  numberIn,
  optionalIn,
  partIn,
  recordOf,
  textIn,
  unread,
  writtenIn,
} from './byte-record.ts'

const colours = ['red', 'green', 'blue'] as const
type Colour = (typeof colours)[number]

type Part = { name: string | null; heights: number[]; colour: Colour }
type Everything = Part & {
  byte: number
  count: number
  number: number
  nullable: number | null
  long: bigint | null
  flag: boolean
  bytes: Buffer
  parts: Part[]
  extra: Part | undefined
}

const describePart = (record: ByteRecord, { name, heights, colour }: Part = unread): Part => ({
  name: textIn(record, name),
  heights: listIn(record, heights, (into, height = 0) => numberIn(into, height)),
  colour: choiceIn<Colour>(record, colours, colour),
})
const describeAll = (record: ByteRecord, all: Everything = unread): Everything => ({
  ...describePart(record, all),
  byte: byteIn(record, all.byte),
  count: countIn(record, all.count),
  number: numberIn(record, all.number),
  nullable: nullableIn(record, all.nullable),
  long: longIn(record, all.long),
  flag: flagIn(record, all.flag),
  bytes: bytesIn(record, all.bytes),
  parts: listIn(record, all.parts, describePart),
  extra: optionalIn(record, all.extra, describePart),
})

const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.string({ minLength: 65, maxLength: 200 }))
const part = fc.record({
  name: fc.option(text),
  heights: fc.array(fc.double()),
  colour: fc.constantFrom(...colours),
})
const everything: fc.Arbitrary<Everything> = fc
  .record({
    byte: fc.nat(255),
    count: fc.nat(2 ** 32 - 1),
    number: fc.double(),
    nullable: fc.option(fc.double({ noNaN: true })),
    long: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).filter((long) => long !== 0n)),
    flag: fc.boolean(),
    bytes: fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    parts: fc.array(part, { maxLength: 5 }),
    extra: fc.option(part, { nil: undefined }),
  })
  .chain((rest) => part.map((own) => ({ ...own, ...rest })))

function written(all: Everything, initialBytes = 1): Buffer {
  const record = createByteRecord(initialBytes)
  expect(partIn(record, all, describeAll)).toBe(all)
  return Buffer.from(writtenIn(record))
}

test('reads what was written, whatever memory it began with', () => {
  fc.assert(
    fc.property(everything, fc.integer({ min: 1, max: 1_000 }), (all, initialBytes) => {
      const bytes = written(all, initialBytes)
      const record = recordOf(bytes)
      expect(partIn<Everything>(record, unread, describeAll)).toEqual(all)
      expect(record.at).toBe(bytes.length)
    }),
  )
})

test('throws if the bytes end too early', () => {
  fc.assert(
    fc.property(everything, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (all, share) => {
      const bytes = written(all)
      const cut = recordOf(bytes.subarray(0, Math.floor(share * bytes.length)))
      expect(() => partIn<Everything>(cut, unread, describeAll)).toThrow(RangeError)
    }),
  )
})

test('writes again into the same memory', () => {
  const record = createByteRecord(1)
  for (const name of ['first', 'second, longer']) {
    record.at = 0
    textIn(record, name)
    expect(textIn(recordOf(writtenIn(record)), null)).toBe(name)
  }
})
