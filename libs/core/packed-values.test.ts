import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createValuePacker, type Packable } from '#core/packed-values'

const value = fc.letrec<{ value: Packable }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.constant(null),
    fc.boolean(),
    fc.double(),
    fc.integer({ min: -300, max: 300 }),
    fc.maxSafeInteger(),
    fc.constantFrom(2 ** 47 - 1, 2 ** 47, -(2 ** 47), -(2 ** 47) - 1, 2 ** 31, -(2 ** 31), -0, NaN, Infinity),
    fc.string({ unit: 'binary' }),
    fc.array(tie('value')),
    fc.constant(undefined),
    fc.record({ lat: tie('value'), lon: tie('value') }, { requiredKeys: [] }),
    fc.tuple(tie('value'), tie('value')).map(([lon, lat]) => ({ lon, lat })),
  ),
})).value

test('a value is the same after packing and unpacking', () => {
  const packer = createValuePacker()
  fc.assert(
    fc.property(value, (packed) => {
      expect(packer.unpack(packer.pack(packed))).toEqual(packed)
    }),
  )
})

test('a value that is larger than the first buffer is packed', () => {
  const packer = createValuePacker()
  const large = ['x'.repeat(10_000), 'Ω'.repeat(10_000), Array.from({ length: 10_000 }, (_, index) => index / 3)]
  expect(packer.unpack(packer.pack(large))).toEqual(large)
})

test('the names of members are packed once', () => {
  const packer = createValuePacker()
  const fix = { latitude: 51.5, longitude: -8.25, accuracyM: 4 }
  expect(packer.pack(fix)).toHaveLength(22)
  expect(packer.unpack(packer.pack([fix, { ...fix, accuracyM: 5 }]))).toEqual([fix, { ...fix, accuracyM: 5 }])
})

test('objects with any names are the same after packing and unpacking, however many names there are', () => {
  const packer = createValuePacker()
  const records = fc.array(fc.dictionary(fc.string({ unit: 'binary' }), value, { noNullPrototype: true }), {
    minLength: 20,
  })
  const known = Buffer.from(packer.pack({ lat: 1, lon: 2 }))
  fc.assert(
    fc.property(records, (packed) => {
      expect(packer.unpack(packer.pack(packed))).toEqual(packed)
      expect(packer.unpack(known)).toEqual({ lat: 1, lon: 2 })
    }),
    { numRuns: 300 },
  )
  // The list of names was kept before there were too many.
  expect(packer.pack({ lat: 1, lon: 2 })).toEqual(known)
})

test('unpacking an incomplete value throws', () => {
  const packer = createValuePacker()
  const packed = Buffer.from(packer.pack([1.5, 'text', [null, 1e12], { lat: 1 }]))
  for (let length = 0; length < packed.length; length++) {
    expect(() => packer.unpack(packed.subarray(0, length))).toThrow('incomplete')
  }
})

test.each([
  ['null', null, 1],
  ['a small count', 200, 1],
  ['a time in milliseconds', 1_793_491_200_000, 7],
  ['a decimal', 51.5, 9],
])('%s takes few bytes', (_, packed, bytes) => {
  expect(createValuePacker().pack(packed)).toHaveLength(bytes)
})

test('a packer with the names of another one unpacks its values', () => {
  fc.assert(
    fc.property(fc.array(value, { minLength: 5 }), value, (packed, later) => {
      const earlier = createValuePacker()
      const kept = packed.map((each) => Buffer.from(earlier.pack(each)))
      const packer = createValuePacker(earlier.names(0))
      expect(kept.map((bytes) => packer.unpack(bytes))).toEqual(packed)
      expect(packer.unpack(packer.pack(later))).toEqual(later)
      expect(kept.map((bytes) => packer.unpack(bytes))).toEqual(packed)
    }),
  )
})
