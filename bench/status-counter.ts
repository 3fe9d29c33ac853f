const statusLine = Buffer.from('HTTP/1.1 ')

/** Counts the status lines in a stream of responses, including those split between chunks. */
export function createStatusCounter(onStatus: (status: number) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    const bytes = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    let at = bytes.indexOf(statusLine)
    while (at >= 0 && at + 12 <= bytes.length) {
      onStatus(Number(bytes.toString('latin1', at + 9, at + 12)))
      at = bytes.indexOf(statusLine, at + 12)
    }
    rest = at >= 0 ? bytes.subarray(at) : bytes.subarray(Math.max(0, bytes.length - statusLine.length + 1))
  }
}
