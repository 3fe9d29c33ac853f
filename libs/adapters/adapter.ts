import type { CorrectedTimes } from './clock.ts'
import type { SourceName } from './source-names.ts'

/** The parts of a request that an adapter reads, apart from the body. Plain data, so that it can be sent to a thread. */
export type AdapterHead = {
  /** The path without the query. */
  path: string
  /** The query without the question mark. It can hold a token, so never log it. */
  query: string
  authorization: string | undefined
  /** The media type in lower case without parameters; empty if there is none. */
  mediaType: string
}

/** Values of one field that were dropped: it is in no mapping, or its value cannot be converted. */
export type DroppedField = { field: string; reason: DropReason; count: number }
export type DropReason = 'unmapped' | 'unusable'

/**
 * Something in the body that was not accepted. Must not be sent again. `index` counts from 0. `count`: how many units of the
 * protocol it stands for, 1 by default.
 */
export type AdapterRejection = {
  index: number
  code: 'invalid_sample' | 'unknown_kind'
  detail: string
  count?: number
}

/**
 * The body in the format of `POST /telemetry`. `envelope` is undefined if the body has no sample, which only a protocol that
 * explains all its rejections returns. `corrected` counts the times of a wrong clock.
 */
type Translated = {
  ok: true
  envelope: Buffer | undefined
  rejected: AdapterRejection[]
  dropped: DroppedField[]
  corrected: CorrectedTimes[]
}

/** The whole body was refused. */
export type Refused = { ok: false; status: 400 | 413; code: string; detail: string }

export type Translation = Translated | Refused

/** What became of a report. `dropped` counts the values that were dropped. */
export type Outcome = {
  accepted: number
  rejected: readonly { index: number; code: string; detail: string; count?: number }[]
  dropped: number
}

/** An error of the service, as in its problem documents. */
export type AdapterProblem = { status: number; code: string; detail: string; requestId: string }

export type AdapterReply = { status: number; headers: Record<string, string>; body: string | Uint8Array | undefined }

/** One protocol of another maker. All functions are pure. */
export type Adapter = {
  /** The label in metrics. */
  source: SourceName
  /** The path pattern of the route, with `:name` parameters. */
  path: string
  /** The accepted media types. Undefined: the protocol does not use them. */
  mediaTypes: readonly string[] | undefined
  /** Returns the credentials as an `Authorization: Bearer` header. Undefined if there are none. */
  authorizationOf: (head: AdapterHead) => string | undefined
  /** Returns the device id in the path, for protocols that have one. */
  deviceIdOf?: (head: AdapterHead) => string
  /** Translates a decompressed body. */
  translate: (body: Buffer, head: AdapterHead, receivedAtMs: number) => Translation
  /** Returns the response to a stored report, which may have been accepted in part. */
  answer: (outcome: Outcome, head: AdapterHead) => AdapterReply
  /** Returns the protocol's own form of an error. */
  answerProblem: (problem: AdapterProblem, head: AdapterHead) => AdapterReply
}

/** Reads the head of a node:http request. */
export function adapterHeadOf(request: {
  url?: string | undefined
  headers: { authorization?: string | undefined; 'content-type'?: string | undefined }
}): AdapterHead {
  const url = request.url ?? ''
  const mark = url.indexOf('?')
  return {
    path: mark < 0 ? url : url.slice(0, mark),
    query: mark < 0 ? '' : url.slice(mark + 1),
    authorization: request.headers.authorization,
    mediaType: request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? '',
  }
}

/** Returns a JSON reply. */
export const jsonReply = (status: number, body: unknown): AdapterReply => ({
  status,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
})

export const refuse = (detail: string, code = 'invalid_request'): Refused => ({ ok: false, status: 400, code, detail })
