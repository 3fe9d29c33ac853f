import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import type { AdapterHead, AdapterProblem, AdapterReply, Outcome } from '../adapter.ts'
import { jsonReply } from '../adapter.ts'

export const protobufType = 'application/x-protobuf'

const isProtobuf = ({ mediaType }: AdapterHead) => mediaType === protobufType

const protobufReply = (status: number, body: Uint8Array): AdapterReply => ({
  status,
  headers: { 'Content-Type': protobufType },
  body,
})

/** Returns an `ExportMetricsServiceResponse`, with `partial_success` if data points were rejected. */
export function responseOf({ rejected }: Outcome, head: AdapterHead): AdapterReply {
  const count = rejected.reduce((sum, rejection) => sum + (rejection.count ?? 1), 0)
  const message = [...new Set(rejected.map(({ detail }) => detail))].slice(0, 5).join(' ')
  if (!isProtobuf(head)) {
    const partialSuccess = { rejectedDataPoints: String(count), errorMessage: message }
    return jsonReply(200, count > 0 ? { partialSuccess } : {})
  }
  if (count === 0) return protobufReply(200, new Uint8Array())
  const partial = new BinaryWriter()
    .tag(1, WireType.Varint)
    .int64(count)
    .tag(2, WireType.LengthDelimited)
    .string(message)
  return protobufReply(200, new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(partial.finish()).finish())
}

/** The codes of gRPC for HTTP statuses. https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto */
const codes: Readonly<Record<number, number>> = {
  400: 3,
  401: 16,
  402: 7,
  403: 7,
  404: 5,
  413: 3,
  415: 3,
  429: 8,
  500: 13,
  503: 14,
}

/** Returns a `google.rpc.Status` in the encoding of the request, as OTLP requires for all errors. */
export function statusOf({ status, detail }: AdapterProblem, head: AdapterHead): AdapterReply {
  const code = codes[status] ?? 2
  if (!isProtobuf(head)) return jsonReply(status, { code, message: detail })
  const bytes = new BinaryWriter().tag(1, WireType.Varint).int32(code).tag(2, WireType.LengthDelimited).string(detail)
  return protobufReply(status, bytes.finish())
}
