import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createRowFilter } from './row-filter.ts'

function messageOf(type: string, content: Buffer): Buffer {
  const header = Buffer.alloc(5)
  header.write(type, 'latin1')
  header.writeUInt32BE(content.length + 4, 1)
  return Buffer.concat([header, content])
}

/** A row of one column, whose value is a number of 32 bits. */
function rowOf(value: number): Buffer {
  const content = Buffer.alloc(10)
  content.writeInt16BE(1)
  content.writeInt32BE(4, 2)
  content.writeInt32BE(value, 6)
  return messageOf('D', content)
}

it('reads rows and passes on all other messages, wherever the bytes are cut', () => {
  const anyMessage = fc.oneof(
    fc.integer().map((value) => ({ row: value, bytes: rowOf(value) })),
    fc
      .tuple(fc.constantFrom('T', '1', '2', 'C', 'Z'), fc.uint8Array({ maxLength: 40 }))
      .map(([type, content]) => ({ row: undefined, bytes: messageOf(type, Buffer.from(content)) })),
  )
  fc.assert(
    fc.property(fc.array(anyMessage), fc.array(fc.integer({ min: 1, max: 60 })), (messages, lengths) => {
      const rows: number[] = []
      const passed: Buffer[] = []
      const filter = createRowFilter(
        (bytes, at) => rows.push(bytes.readInt32BE(at + 4)),
        (bytes) => passed.push(Buffer.from(bytes)),
      )
      const all = Buffer.concat(messages.map(({ bytes }) => bytes))
      let from = 0
      for (const length of lengths) {
        filter(all.subarray(from, from + length))
        from = Math.min(all.length, from + length)
      }
      filter(all.subarray(from))
      expect(rows).toEqual(messages.flatMap(({ row }) => (row === undefined ? [] : [row])))
      const others = messages.filter(({ row }) => row === undefined).map(({ bytes }) => bytes)
      expect(Buffer.concat(passed)).toEqual(Buffer.concat(others))
    }),
  )
})
