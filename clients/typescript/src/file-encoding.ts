const separators = /[\r\n\t;,"]/
const exampleLength = 60

/** The text of a file. `example`: the file is not Unicode and was read as Windows-1252, in which a part of it is this text. */
type FileText = { text: string; example?: string }

/**
 * Returns the text of a file that a person has saved: UTF-8, UTF-16 or, if it is neither, Windows-1252. The latter is a guess, so
 * show `example` before you use the text.
 */
export function decodeFile(bytes: Uint8Array): FileText {
  const text = decodeUnicode(bytes)
  if (text !== undefined) return { text }
  const guessed = new TextDecoder('windows-1252').decode(bytes)
  // A byte that is not UTF-8 is not ASCII.
  const at = guessed.search(/[\u0080-\uffff]/)
  const before =
    guessed
      .slice(Math.max(0, at - exampleLength / 2), at)
      .split(separators)
      .at(-1) ?? ''
  const after = guessed.slice(at, at + exampleLength / 2).split(separators)[0] ?? ''
  return { text: guessed, example: `${before}${after}`.trim() }
}

/** Returns the text of a file in UTF-8 or UTF-16; undefined if it is neither. */
export function decodeUnicode(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes)
  } catch {
    return undefined
  }
}

/**
 * Returns the encoding of a file in Unicode. The first character of UTF-16 without a byte order mark is ASCII, so one of its bytes
 * is 0.
 */
export function encodingOf([first, second]: Uint8Array): string {
  if ((first === 0xff && second === 0xfe) || second === 0) return 'utf-16le'
  return (first === 0xfe && second === 0xff) || first === 0 ? 'utf-16be' : 'utf-8'
}
