import type { IncomingMessage } from 'node:http'
import { gunzipSync, zstdDecompressSync } from 'node:zlib'
import { ServiceError } from '#core/errors'
import { maxReportBytes } from '#device-edge/contract'
import type { BatchFormat } from '#telemetry/report/envelope'
import type { Coding } from '#telemetry-log/log'

const formats: Record<string, BatchFormat> = { 'application/json': 'json', 'application/x-ndjson': 'ndjson' }
export type ContentCoding = Coding | 'identity'

/** Returns the format of a report from its headers. Throws 413 or 415. */
export function readReportFormat(request: IncomingMessage): BatchFormat {
  requireContentLength(request)
  const type = (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  const format = Object.hasOwn(formats, type) ? formats[type] : undefined
  if (format) return format
  throw new ServiceError(415, 'unsupported_media_type', 'Send the report as application/json or application/x-ndjson.')
}

/** Throws 413 if the declared length is too large. */
export function requireContentLength(request: IncomingMessage): void {
  if (Number(request.headers['content-length'] ?? 0) > maxReportBytes) throw tooLarge()
}

/** Returns the content coding of a report from its headers. Throws 415. */
export function readContentCoding(request: IncomingMessage): ContentCoding {
  const coding = (request.headers['content-encoding'] ?? 'identity').trim().toLowerCase()
  if (coding === 'gzip' || coding === 'x-gzip') return 'gzip'
  if (coding === 'zstd' || coding === 'identity') return coding
  throw new ServiceError(415, 'unsupported_encoding', 'A report may be compressed with gzip or zstd only.', {
    headers: { 'Accept-Encoding': 'gzip, zstd' },
  })
}

/**
 * Reads the body as sent. Calls `onBytes` with the total and the new bytes as they arrive, and rejects with its error.
 * Rejects with 413 if the body is too large. Resolves with undefined if the client disconnected.
 */
export function readBody(
  request: IncomingMessage,
  onBytes: (totalBytes: number, arrivedBytes: number) => void,
): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    const refuse = (error: unknown) => {
      request.removeAllListeners('data')
      more = undefined
      reject(error)
    }
    let first: Buffer | undefined
    let more: Buffer[] | undefined
    let total = 0
    request.on('data', (chunk: Buffer) => {
      total += chunk.length
      try {
        if (total > maxReportBytes) throw tooLarge()
        onBytes(total, chunk.length)
      } catch (error) {
        refuse(error)
        return
      }
      if (first === undefined) first = chunk
      else if (more === undefined) more = [first, chunk]
      else more.push(chunk)
    })
    request.on('end', () => resolve(more ? Buffer.concat(more, total) : (first ?? Buffer.alloc(0))))
    request.on('error', () => resolve(undefined))
    request.on('close', () => resolve(undefined))
  })
}

/**
 * Decompresses synchronously, which is faster than the thread pool below 256 KiB. Returns undefined if the result exceeds
 * `maxBytes`. Throws 413 if it exceeds the limit of reports, and 400 if the body is invalid.
 */
export function decompress(body: Buffer, coding: ContentCoding, maxBytes = maxReportBytes): Buffer | undefined {
  if (coding === 'identity') return body.length <= maxBytes ? body : undefined
  try {
    return coding === 'gzip'
      ? gunzipSync(body, { maxOutputLength: maxBytes })
      : zstdDecompressSync(body, { maxOutputLength: maxBytes })
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') {
      if (maxBytes < maxReportBytes) return undefined
      throw tooLarge()
    }
    throw new ServiceError(400, 'invalid_encoding', `The body is not valid ${coding}.`)
  }
}

const tooLarge = () =>
  new ServiceError(
    413,
    'body_too_large',
    `A report may have at most ${maxReportBytes} bytes, also after decompression.`,
    {
      members: { maxBytes: maxReportBytes },
    },
  )
