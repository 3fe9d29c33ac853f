import { badRequest, ServiceError } from '#core/errors'
import { isSliceOver, nextSlice } from '#core/slices'
import type { BodyAccount } from '#http/body-budget'

const tooLarge = (maxBytes: number) =>
  new ServiceError(413, 'body_too_large', `The body must not exceed ${maxBytes} bytes.`, { members: { maxBytes } })

const tooSlow = (deadlineMs: number) =>
  new ServiceError(400, 'body_too_slow', `The body did not arrive within ${deadlineMs / 1_000} s.`, {
    headers: { Connection: 'close' },
  })

/** `account` counts the body. `deadlineMs` limits the time to receive it, for callers that are not authenticated yet. */
export type BodyTerms = { account?: BodyAccount; deadlineMs?: number }

/**
 * Reads a request body of at most `maxBytes`. Returns undefined when there is none. Counts the bytes as they arrive, so a
 * missing or wrong Content-Length does not bypass the limit. Throws 413 `body_too_large`, 400 `body_too_slow`, and the
 * errors of the account.
 */
export async function readBody(
  request: Request,
  maxBytes: number,
  { account, deadlineMs }: BodyTerms = {},
): Promise<Buffer | undefined> {
  const declared = Number(request.headers.get('content-length') ?? 0)
  if (declared > maxBytes) throw tooLarge(maxBytes)
  if (!request.body) return undefined
  const reader = request.body.getReader()
  const deadline = startDeadline(deadlineMs)
  const chunks: Uint8Array[] = []
  let total = 0
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), deadline.passed])
      if (done) break
      total += value.byteLength
      if (total > maxBytes) throw tooLarge(maxBytes)
      account?.take(value.byteLength)
      chunks.push(value)
      // Many large bodies at once would fill one turn of the event loop with up to 2 MiB of each.
      if (isSliceOver()) await nextSlice()
    }
  } catch (error) {
    void reader.cancel().catch(() => {})
    throw error
  } finally {
    deadline.clear()
  }
  account?.arrived()
  return total === 0 ? undefined : Buffer.concat(chunks, total)
}

/** Returns a promise that rejects with `body_too_slow` after `deadlineMs`, or never when that is undefined. */
export function startDeadline(deadlineMs: number | undefined): { passed: Promise<never>; clear: () => void } {
  let timer: NodeJS.Timeout | undefined
  const passed = new Promise<never>((_resolve, reject) => {
    if (deadlineMs !== undefined) timer = setTimeout(() => reject(tooSlow(deadlineMs)), deadlineMs)
  })
  // Prevents an unhandled rejection when the deadline passes after the last read.
  passed.catch(() => {})
  return { passed, clear: () => clearTimeout(timer) }
}

/** Throws 415 unless the body has one of these media types and no content encoding. */
export function requireMediaType(request: Request, accepted: readonly string[]): void {
  const encoding = request.headers.get('content-encoding')
  if (encoding !== null && encoding.toLowerCase() !== 'identity') {
    throw new ServiceError(415, 'unsupported_encoding', 'Send the body without Content-Encoding.', {
      headers: { 'Accept-Encoding': 'identity' },
    })
  }
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type === undefined || !accepted.includes(type)) {
    throw new ServiceError(415, 'unsupported_media_type', `Send the body as ${accepted.join(' or ')}.`)
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Decodes the body as UTF-8 text. Throws 400 when it is not valid. */
export function decodeText(body: Uint8Array): string {
  try {
    return utf8.decode(body)
  } catch {
    throw badRequest('The body is not valid UTF-8.', undefined, 'invalid_json')
  }
}

/**
 * Decodes a text file that a person has saved: UTF-8, or UTF-16 as spreadsheets write "Unicode text". Throws 400
 * `invalid_encoding`.
 */
export function decodeTextFile(body: Uint8Array): string {
  try {
    return new TextDecoder(encodingOf(body), { fatal: true }).decode(body)
  } catch {
    throw badRequest('The file must be UTF-8 or UTF-16. Save it as “CSV UTF-8”.', undefined, 'invalid_encoding')
  }
}

/** The first character of a file of UTF-16 without a byte order mark is ASCII, so one of its bytes is 0. */
function encodingOf([first, second]: Uint8Array): string {
  if ((first === 0xff && second === 0xfe) || second === 0) return 'utf-16le'
  return (first === 0xfe && second === 0xff) || first === 0 ? 'utf-16be' : 'utf-8'
}

/** Deeper than any valid body. Below this limit, code may walk a body recursively. */
const maxLevels = 100

/** Objects and arrays; more than any valid body has. A megabyte of empty arrays takes thirty times its size once parsed. */
const maxContainers = 100_000

/**
 * Parses the body as JSON. Throws 400 `invalid_json`, without a quote of the body, also when it exceeds 100 levels or
 * 100,000 objects and arrays.
 */
export function decodeJson(body: Uint8Array): unknown {
  const text = decodeText(body)
  const excess = findExcess(body)
  if (excess) throw badRequest(`The body must not exceed ${excess}.`, undefined, 'invalid_json')
  try {
    return JSON.parse(text)
  } catch {
    throw badRequest('The body is not valid JSON.', undefined, 'invalid_json')
  }
}

const quote = 0x22
const backslash = 0x5c
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

/**
 * Returns which limit the body exceeds. Counts brackets outside strings: scanning the bytes is ten times as fast as walking
 * the parsed value, and needs no memory. In UTF-8, the bytes of all other characters than ASCII are above 0x7f.
 */
function findExcess(body: Uint8Array): string | undefined {
  let [depth, containers] = [0, 0]
  let isInString = false
  for (let index = 0; index < body.length; index += 1) {
    const byte = body[index]
    if (isInString) {
      if (byte === backslash) index += 1
      else if (byte === quote) isInString = false
    } else if (byte === quote) isInString = true
    else if (byte === openBracket || byte === openBrace) {
      depth += 1
      containers += 1
      if (depth > maxLevels) return `${maxLevels} levels of nesting`
      if (containers > maxContainers) return `${maxContainers} objects and arrays`
    } else if (byte === closeBracket || byte === closeBrace) depth -= 1
  }
  return undefined
}
