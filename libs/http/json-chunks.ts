import { isSliceOver, nextSlice } from '#core/slices'

/** A JSON array whose items are made when they are written. */
export type LazyArray = Iterable<unknown>

/** The items of a list, each mapped when it is written. May be iterated several times. */
export const lazily = <Item, Result>(items: Iterable<Item>, map: (item: Item) => Result): Iterable<Result> => ({
  *[Symbol.iterator]() {
    for (const item of items) yield map(item)
  },
})

const chunkLength = 64 * 1024
/** Looks at the clock after so many characters: a short answer does not wait for the work of others. */
const lengthPerCheck = 32 * 1024
const itemsAtOnce = 64

/**
 * The bytes of `JSON.stringify(value)` in chunks of about 64 KiB, made in slices so that the event loop stays free. An
 * iterable that is no array is written as an array. `frame` is text to write before and after it.
 */
export async function* jsonChunks(
  value: unknown,
  frame: { before?: string; after?: string } = {},
): AsyncGenerator<Buffer<ArrayBuffer>> {
  let text = frame.before ?? ''
  let uncheckedLength = 0
  for (const piece of pieces(value)) {
    text += piece
    uncheckedLength += piece.length
    if (text.length >= chunkLength) {
      yield Buffer.from(text)
      text = ''
    }
    if (uncheckedLength < lengthPerCheck) continue
    uncheckedLength = 0
    if (isSliceOver()) await nextSlice()
  }
  yield Buffer.from(text + (frame.after ?? ''))
}

function* pieces(value: unknown): Generator<string> {
  if (!isComposite(value)) yield JSON.stringify(value) ?? 'null'
  else if (isIterable(value)) yield* arrayPieces(value)
  else yield* objectPieces(value)
}

function* objectPieces(object: object): Generator<string> {
  let separator = '{'
  for (const [name, value] of Object.entries(object)) {
    if (value === undefined || typeof value === 'function' || typeof value === 'symbol') continue
    yield `${separator}${JSON.stringify(name)}:`
    yield* pieces(value)
    separator = ','
  }
  yield separator === '{' ? '{}' : '}'
}

/** Items are written many at a time by the built-in function, which is faster than the generators here. */
function* arrayPieces(items: Iterable<unknown>): Generator<string> {
  let separator = '['
  let some: unknown[] = []
  for (const item of items) {
    some.push(item)
    if (some.length < itemsAtOnce) continue
    yield separator + JSON.stringify(some).slice(1, -1)
    separator = ','
    some = []
  }
  if (some.length > 0) yield `${separator}${JSON.stringify(some).slice(1, -1)}]`
  else yield separator === '[' ? '[]' : ']'
}

const isComposite = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !('toJSON' in value)

const isIterable = (value: object): value is Iterable<unknown> => Symbol.iterator in value
