import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { cumulative, MalformedRequest, noRecordedValue, type OnPoint, type Shape, withResource } from './points.ts'

/** Reads one field of a message. Returns false to skip it. */
type OnField = (reader: BinaryReader, fieldNumber: number, wireType: WireType) => boolean

function readMessage(bytes: Uint8Array, onField: OnField): void {
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const [fieldNumber, wireType] = reader.tag()
    const start = reader.pos
    if (!onField(reader, fieldNumber, wireType)) {
      reader.pos = start
      reader.skip(wireType, fieldNumber)
    }
  }
  if (reader.pos > reader.len) throw new RangeError('premature EOF')
}

/** Calls `read` with the embedded messages of one field. */
const messages =
  (wanted: number, read: (bytes: Uint8Array) => void): OnField =>
  (reader, fieldNumber, wireType) => {
    if (fieldNumber !== wanted || wireType !== WireType.LengthDelimited) return false
    read(reader.bytes())
    return true
  }

/**
 * Reads the data points of an `ExportMetricsServiceRequest` in protobuf, without creating its other messages. Throws
 * MalformedRequest. https://github.com/open-telemetry/opentelemetry-proto
 */
export function readProtobuf(body: Uint8Array, onPoint: OnPoint): void {
  const readResourceMetrics = (bytes: Uint8Array) => {
    const attributes: Attributes = []
    const readResource = messages(1, (attribute) => readAttribute(attribute, attributes))
    readMessage(
      bytes,
      messages(1, (resource) => readMessage(resource, readResource)),
    )
    const readMetrics = messages(2, (metric) => readMetric(metric, withResource(attributes, onPoint)))
    readMessage(
      bytes,
      messages(2, (scope) => readMessage(scope, readMetrics)),
    )
  }
  try {
    readMessage(body, messages(1, readResourceMetrics))
  } catch (error) {
    if (isReadingError(error)) throw new MalformedRequest('The body is not an ExportMetricsServiceRequest in protobuf.')
    throw error
  }
}

/** The reader throws plain errors and range errors for invalid bytes, and the text decoder type errors. */
const isReadingError = (error: unknown): boolean =>
  error instanceof RangeError || error instanceof TypeError || (error instanceof Error && error.constructor === Error)

type Attributes = [string, string | number][]

type Metric = { name: string; shape: Shape; points: Uint8Array[] }

/** The fields of `Metric` whose data have a list of points in their first field. */
const dataFields: Readonly<Record<number, Shape>> = {
  5: 'gauge',
  7: 'cumulative sum',
  9: 'other',
  10: 'other',
  11: 'other',
}

function readMetric(bytes: Uint8Array, onPoint: OnPoint): void {
  const metric: Metric = { name: '', shape: 'other', points: [] }
  readMessage(bytes, (reader, fieldNumber, wireType) => {
    if (wireType !== WireType.LengthDelimited) return false
    if (fieldNumber === 1) metric.name = reader.string()
    else if (dataFields[fieldNumber]) readData(reader.bytes(), dataFields[fieldNumber], metric)
    else return false
    return true
  })
  for (const point of metric.points) readPoint(point, metric, onPoint)
}

function readData(bytes: Uint8Array, shape: Shape, metric: Metric): void {
  let temporality = cumulative
  if (shape === 'cumulative sum') temporality = 0
  metric.points = []
  readMessage(bytes, (reader, fieldNumber, wireType) => {
    if (fieldNumber === 1 && wireType === WireType.LengthDelimited) metric.points.push(reader.bytes())
    else if (fieldNumber === 2 && wireType === WireType.Varint) temporality = reader.int32()
    else return false
    return true
  })
  metric.shape = shape === 'cumulative sum' && temporality !== cumulative ? 'other' : shape
}

function readPoint(bytes: Uint8Array, { name, shape }: Metric, onPoint: OnPoint): void {
  const attributes: Attributes = []
  let value: number | undefined
  let [timeUnixNano, flags] = [0n, 0]
  if (shape !== 'other') {
    readMessage(bytes, (reader, fieldNumber, wireType) => {
      if (fieldNumber === 3 && wireType === WireType.Bit64) timeUnixNano = BigInt(reader.fixed64())
      else if (fieldNumber === 4 && wireType === WireType.Bit64) value = reader.double()
      else if (fieldNumber === 6 && wireType === WireType.Bit64) value = Number(reader.sfixed64())
      else if (fieldNumber === 8 && wireType === WireType.Varint) flags = reader.uint32()
      else if (fieldNumber === 7 && wireType === WireType.LengthDelimited) readAttribute(reader.bytes(), attributes)
      else return false
      return true
    })
  }
  onPoint({ name, shape, timeUnixNano, value, isAbsent: (flags & noRecordedValue) !== 0, attributes })
}

function readAttribute(bytes: Uint8Array, attributes: Attributes): void {
  let key = ''
  let value: string | number | undefined
  readMessage(bytes, (reader, fieldNumber, wireType) => {
    if (wireType !== WireType.LengthDelimited) return false
    if (fieldNumber === 1) key = reader.string()
    else if (fieldNumber === 2) value = readAnyValue(reader.bytes())
    else return false
    return true
  })
  if (value !== undefined) attributes.push([key, value])
}

/** Returns a text or a number; undefined for all other values. */
function readAnyValue(bytes: Uint8Array): string | number | undefined {
  let value: string | number | undefined
  readMessage(bytes, (reader, fieldNumber, wireType) => {
    if (fieldNumber === 1 && wireType === WireType.LengthDelimited) value = reader.string()
    else if (fieldNumber === 3 && wireType === WireType.Varint) value = Number(reader.int64())
    else if (fieldNumber === 4 && wireType === WireType.Bit64) value = reader.double()
    else return false
    return true
  })
  return value
}
