/** A point of InfluxDB's line protocol. `timestamp` is in the unit of the request. `line` counts from 1. */
export type LinePoint = {
  line: number
  measurement: string
  tags: [key: string, value: string][]
  fields: [key: string, value: FieldValue][]
  timestamp: string | undefined
}
type FieldValue = string | number | boolean

/** A line that is not line protocol. `text` is its beginning. */
export type BrokenLine = { line: number; text: string; reason: string }

class SyntaxProblem extends Error {}

const quotedCharacters = 60
const truths: Readonly<Record<string, boolean>> = {
  t: true,
  T: true,
  true: true,
  True: true,
  TRUE: true,
  f: false,
  F: false,
  false: false,
  False: false,
  FALSE: false,
}
const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/
const whole = /^[+-]?\d+[iu]$/
const timestampText = /^-?\d{1,20}$/

/**
 * Yields the points and the broken lines of a text. Reads each character at most twice.
 * https://docs.influxdata.com/influxdb/v2/reference/syntax/line-protocol/
 */
export function* parseLineProtocol(text: string): Generator<LinePoint | BrokenLine> {
  const cursor = { text, at: 0 }
  let line = 1
  while (cursor.at < text.length) {
    const start = cursor.at
    skipSpaces(cursor)
    const first = text[cursor.at]
    if (first === '#') skipLine(cursor)
    else if (first !== '\n' && first !== '\r' && first !== undefined) yield readPoint(cursor, line)
    if (text[cursor.at] === '\r') cursor.at += 1
    if (text[cursor.at] === '\n') cursor.at += 1
    // A text value can contain line breaks.
    for (let at = start; at < cursor.at; at += 1) if (text[at] === '\n') line += 1
  }
}

type Cursor = { text: string; at: number }

function readPoint(cursor: Cursor, line: number): LinePoint | BrokenLine {
  const start = cursor.at
  try {
    const measurement = readName(cursor, ', ')
    if (measurement === '') throw new SyntaxProblem('missing measurement')
    const tags: LinePoint['tags'] = []
    while (take(cursor, ',')) {
      const key = readName(cursor, ',= ')
      if (key === '' || !take(cursor, '=')) throw new SyntaxProblem('missing tag key or value')
      const value = readName(cursor, ',= ')
      if (value === '') throw new SyntaxProblem('missing tag value')
      tags.push([key, value])
    }
    if (!skipSpaces(cursor) || isAtEnd(cursor)) throw new SyntaxProblem('missing fields')
    const fields: LinePoint['fields'] = []
    do {
      const key = readName(cursor, ',= ')
      if (key === '' || !take(cursor, '=')) throw new SyntaxProblem('invalid field format')
      fields.push([key, readValue(cursor)])
    } while (take(cursor, ','))
    return { line, measurement, tags, fields, timestamp: readTimestamp(cursor) }
  } catch (error) {
    if (!(error instanceof SyntaxProblem)) throw error
    skipLine(cursor)
    return {
      line,
      text: cursor.text.slice(start, Math.min(cursor.at, start + quotedCharacters)),
      reason: error.message,
    }
  }
}

/** Reads up to an unescaped character of `ends` or the end of the line. A backslash escapes only these and the space. */
function readName(cursor: Cursor, ends: string): string {
  const { text } = cursor
  let name = ''
  let copied = cursor.at
  for (; cursor.at < text.length; cursor.at += 1) {
    const character = text[cursor.at] ?? ''
    if (character === '\\' && ',= '.includes(text[cursor.at + 1] ?? '\n')) {
      name += text.slice(copied, cursor.at)
      copied = cursor.at + 1
      cursor.at += 1
    } else if (character === '\n' || ends.includes(character)) break
  }
  return name + text.slice(copied, cursor.at)
}

function readValue(cursor: Cursor): FieldValue {
  if (take(cursor, '"')) return readText(cursor)
  const { text, at } = cursor
  while (cursor.at < text.length && !', \r\n'.includes(text[cursor.at] ?? '')) cursor.at += 1
  const value = text.slice(at, cursor.at)
  if (Object.hasOwn(truths, value)) return truths[value] ?? false
  if (whole.test(value)) return Number(value.slice(0, -1))
  if (decimal.test(value)) return Number(value)
  throw new SyntaxProblem(value === '' ? 'missing field value' : 'invalid field value')
}

/** Reads the rest of a text value and its closing quote. */
function readText(cursor: Cursor): string {
  const { text } = cursor
  const start = cursor.at
  let value = ''
  let copied = start
  for (; cursor.at < text.length; cursor.at += 1) {
    const character = text[cursor.at]
    const next = text[cursor.at + 1]
    if (character === '\\' && (next === '"' || next === '\\')) {
      value += text.slice(copied, cursor.at)
      copied = cursor.at + 1
      cursor.at += 1
    } else if (character === '"') {
      value += text.slice(copied, cursor.at)
      cursor.at += 1
      return value
    }
  }
  // The lines that follow are probably not part of the text.
  cursor.at = start
  throw new SyntaxProblem('unbalanced quotes')
}

function readTimestamp(cursor: Cursor): string | undefined {
  const { text } = cursor
  if (!skipSpaces(cursor) && !isAtEnd(cursor)) throw new SyntaxProblem('invalid field format')
  const start = cursor.at
  while (!isAtEnd(cursor) && text[cursor.at] !== ' ') cursor.at += 1
  const timestamp = text.slice(start, cursor.at)
  skipSpaces(cursor)
  if (!isAtEnd(cursor)) throw new SyntaxProblem('invalid field format')
  if (timestamp === '') return undefined
  if (!timestampText.test(timestamp)) throw new SyntaxProblem('invalid timestamp')
  return timestamp
}

/** True at the end of the line or of the text. */
function isAtEnd({ text, at }: Cursor): boolean {
  const character = text[at]
  return character === undefined || character === '\n' || (character === '\r' && (text[at + 1] ?? '\n') === '\n')
}

function take(cursor: Cursor, character: string): boolean {
  if (cursor.text[cursor.at] !== character) return false
  cursor.at += 1
  return true
}

/** Skips spaces. Returns whether there was one. */
function skipSpaces(cursor: Cursor): boolean {
  const start = cursor.at
  while (cursor.text[cursor.at] === ' ') cursor.at += 1
  return cursor.at > start
}

function skipLine(cursor: Cursor): void {
  const end = cursor.text.indexOf('\n', cursor.at)
  cursor.at = end < 0 ? cursor.text.length : end
}
