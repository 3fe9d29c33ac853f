import { isOwnField } from '../own-fields.ts'
import { fieldOfMetric } from './field-names.ts'

/** What an adapter reads of a metric. Other metrics have no data points that a field could hold. */
export type Shape = 'gauge' | 'cumulative sum' | 'other'

export type DataPoint = {
  name: string
  shape: Shape
  /** Epoch nanoseconds; 0 if there is none. */
  timeUnixNano: bigint
  /** Undefined if the point has no number. */
  value: number | undefined
  /** True if the point says that it has no value. */
  isAbsent: boolean
  attributes: [key: string, value: string | number][]
}

/** Called for every data point of a request, in its order. Throws to end the reading. */
export type OnPoint = (point: DataPoint) => void

/** Attributes of a resource that its points have too: a collector can have a resource for each modem. */
const resourceAttributes: ReadonlySet<string> = new Set(['modem', 'interface', 'simPlmn'])

/** Returns the function for points of a resource with these attributes. A point's own attributes come first. */
export function withResource(shared: DataPoint['attributes'], onPoint: OnPoint): OnPoint {
  const named = shared.filter(([key]) => resourceAttributes.has(key))
  if (named.length === 0) return onPoint
  return (point) => {
    const kind = fieldOfMetric(point.name)?.kind
    const missing = named.filter(
      ([key]) => kind && isOwnField(kind, key) && !point.attributes.some(([own]) => own === key),
    )
    onPoint({ ...point, attributes: [...missing, ...point.attributes] })
  }
}

/** `AGGREGATION_TEMPORALITY_CUMULATIVE`. */
export const cumulative = 2
/** `DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK`. */
export const noRecordedValue = 1

/** The body is not an OTLP request. The message says why. */
export class MalformedRequest extends Error {}
