/** A sentence of NMEA 0183. `type`: its three letters, without the talker. */
export type Sentence = { type: string; fields: string[] }

export type BrokenSentence = { reason: string }

/** The standard allows 82 characters; some receivers send more digits than it does. */
const maxCharacters = 256
const form = /^[$!](?:(P[A-Z0-9]*)|[A-Z]{2}([A-Z]{3})),([^*]*)\*([0-9A-F]{2})$/i

/**
 * Returns the line from its last `$`, which is in no sentence. What stands before is a tag block of NMEA 4, such as
 * `\s:GPS1,c:1762400000*hh\`, a sentence that was cut off, or another protocol of the receiver.
 */
const withoutStart = (line: string): string => line.slice(Math.max(0, line.lastIndexOf('$')))

/**
 * Parses a line. The checksum is required: without it, a damaged position cannot be recognized. Sentences that begin with P are
 * the maker's own, which no table can read.
 */
export function parseSentence(received: string): Sentence | 'proprietary' | BrokenSentence {
  const line = withoutStart(received).replaceAll('\0', '')
  if (line.length > maxCharacters) return { reason: `more than ${maxCharacters} characters` }
  const [whole, proprietary, type = '', fields = '', checksum = ''] = form.exec(line) ?? []
  if (whole === undefined) return { reason: 'not a sentence with a checksum' }
  if (checksumOf(line) !== Number.parseInt(checksum, 16)) return { reason: 'wrong checksum' }
  if (proprietary !== undefined) return 'proprietary'
  return { type: type.toUpperCase(), fields: fields.split(',') }
}

/** Returns the sentence with its `$` and its checksum. */
export function withChecksum(text: string): string {
  const line = `$${text}*`
  return line + checksumOf(line).toString(16).toUpperCase().padStart(2, '0')
}

/** Returns the exclusive or of all characters between `$` and `*`. */
function checksumOf(line: string): number {
  let sum = 0
  for (let index = 1; index < line.length && line[index] !== '*'; index += 1) sum ^= line.charCodeAt(index)
  return sum
}
