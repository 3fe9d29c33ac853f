import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { createRadioIndex, type IndexedRadio } from './radio-index.ts'

/** Fields as in a row: each with its length in four bytes. */
function fieldsOf(...texts: (string | null)[]): Buffer {
  return Buffer.concat(
    texts.map((text) => {
      const bytes = Buffer.from(text ?? '')
      const length = Buffer.alloc(4)
      length.writeInt32BE(text === null ? -1 : bytes.length)
      return Buffer.concat([length, bytes])
    }),
  )
}

const indexAt = (radios: readonly IndexedRadio[], { deviceId, modem }: IndexedRadio) =>
  createRadioIndex(radios).indexAt(Buffer.concat([Buffer.alloc(3), fieldsOf(deviceId, modem)]), 3)

it('finds each radio by its bytes', () => {
  const ids = Array.from({ length: 1_000 }, () => randomUUID())
  const radios = ids.flatMap((deviceId, index) =>
    index % 2 === 0
      ? [{ deviceId, modem: null }]
      : ['wwan0', 'wwan1', 'Zürich', null].map((modem) => ({ deviceId, modem })),
  )
  const index = createRadioIndex(radios)
  for (const [at, { deviceId, modem }] of radios.entries()) expect(index.indexAt(fieldsOf(deviceId, modem), 0)).toBe(at)
})

it('finds no radio of another device or modem', () => {
  const [deviceId, other] = [randomUUID(), randomUUID()]
  const radios = [
    { deviceId, modem: 'wwan0' },
    { deviceId, modem: 'wwan1' },
  ]
  expect(indexAt(radios, { deviceId, modem: 'wwan1' })).toBe(1)
  expect(indexAt(radios, { deviceId, modem: 'wwan2' })).toBe(-1)
  expect(indexAt(radios, { deviceId, modem: 'wwan' })).toBe(-1)
  expect(indexAt(radios, { deviceId, modem: null })).toBe(-1)
  expect(indexAt(radios, { deviceId: other, modem: 'wwan1' })).toBe(-1)
  expect(indexAt([], { deviceId, modem: null })).toBe(-1)
})

it('tells devices apart whose ids end alike', () => {
  const [first, second] = ['0193e000-0000-7000-8000-00000000000a', '0193e001-0000-7000-8000-00000000000a']
  const radios = [first, second].map((deviceId) => ({ deviceId, modem: null }))
  expect(radios.map((radio) => indexAt(radios, radio))).toEqual([0, 1])
})
