type Numbers = Uint8Array | Uint16Array | Uint32Array | Float64Array

/** Returns an array of at least this length that begins as the given one does. */
export function grown<Type extends Numbers>(numbers: Type, length: number): Type {
  if (length <= numbers.length) return numbers
  const make = numbers.constructor as new (buffer: ArrayBufferLike) => Type
  const bytes = Math.ceil(1.2 * length) * numbers.BYTES_PER_ELEMENT
  return new make((numbers.buffer as ArrayBuffer).transfer(bytes))
}
