import { parseTime } from './times.ts'

export type BatchFormat = 'json' | 'ndjson'

export type RefusedBatch = { ok: false; status: 400 | 413; code: string; detail: string }

/** Placeholder for an NDJSON line that is not JSON. */
export const brokenLine = Symbol('broken line')

/** The content of a request body. Its samples are not validated yet. */
export type Envelope = {
  ok: true
  values: unknown[]
  sentAtMs: number | null
  batchId: string | null
  /** The number of members other than `samples` and valid `sentAt` and `batchId`. */
  unknownFields: number
}

const maxSamples = 1000
const maxHeaderTextLength = 256

const refuse = (detail: string): RefusedBatch => ({ ok: false, status: 400, code: 'invalid_request', detail })

const tooMany: RefusedBatch = {
  ok: false,
  status: 413,
  code: 'too_many_samples',
  detail: `A report may have at most ${maxSamples} samples.`,
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function readHeader(header: Record<string, unknown>): Omit<Envelope, 'ok' | 'values'> {
  const { sentAt, batchId } = header
  const isOverlong = typeof sentAt === 'string' && sentAt.length > maxHeaderTextLength
  const sentAtMs = isOverlong ? null : parseTime(sentAt)
  const hasBatchId = typeof batchId === 'string' && batchId.length <= maxHeaderTextLength
  const read = (sentAtMs === null ? 0 : 1) + (hasBatchId ? 1 : 0) + (Object.hasOwn(header, 'samples') ? 1 : 0)
  return {
    sentAtMs,
    batchId: hasBatchId ? batchId : null,
    unknownFields: Object.keys(header).length - read,
  }
}

function readJson(text: string): Envelope | RefusedBatch {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return refuse('The body is not JSON.')
  }
  if (!isObject(body) || !Array.isArray(body.samples))
    return refuse('The body must be an object with a `samples` array.')
  if (body.samples.length === 0) return refuse('`samples` is empty.')
  if (body.samples.length > maxSamples) return tooMany
  return { ok: true, values: body.samples, ...readHeader(body) }
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return brokenLine
  }
}

const isHeader = (value: unknown): value is Record<string, unknown> =>
  isObject(value) && value.kind === undefined && (value.sentAt !== undefined || value.batchId !== undefined)

const isBlank = (code: number) => code === 0x0a || code === 0x0d || code === 0x20 || code === 0x09

function readNdjson(text: string): Envelope | RefusedBatch {
  const values: unknown[] = []
  let header: Record<string, unknown> = {}
  let isFirst = true
  for (let start = 0; start < text.length; ) {
    // Skipped by character: a body may consist of a million empty lines.
    if (isBlank(text.charCodeAt(start))) {
      start++
      continue
    }
    const newline = text.indexOf('\n', start)
    const end = newline === -1 ? text.length : newline
    const line = text.slice(start, end)
    start = end + 1
    if (line.trim() === '') continue
    const value = parseLine(line)
    if (isFirst && isHeader(value)) header = value
    else if (values.length === maxSamples) return tooMany
    else values.push(value)
    isFirst = false
  }
  if (values.length === 0) return refuse('The body has no samples.')
  return { ok: true, values, ...readHeader(header) }
}

const hasByteOrderMark = (bytes: Buffer): boolean => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf

/** Parses a decompressed body into its header and up to 1000 values. Returns an error if it cannot be decoded. */
export function readEnvelope(bytes: Buffer, format: BatchFormat): Envelope | RefusedBatch {
  const text = bytes.toString('utf8', hasByteOrderMark(bytes) ? 3 : 0)
  return format === 'json' ? readJson(text) : readNdjson(text)
}
