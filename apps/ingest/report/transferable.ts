/** Returns the bytes with memory of their own, which can move to another thread. Copies them if they are part of a larger block. */
export function transferable(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) return new Uint8Array(buffer)
  const copy = new Uint8Array(byteLength)
  copy.set(bytes)
  return copy
}
