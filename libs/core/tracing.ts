/** The W3C Trace Context of a span, `00-<trace>-<span>-01`. It is stored with a job, so that its trace continues in other processes. */
export type Traceparent = string

type Attributes = Record<string, string | number>

type SpanDetails = {
  kind: 'server' | 'producer' | 'consumer' | 'internal'
  /** The span that caused this one. Without it, a new trace begins. */
  parent?: Traceparent | null | undefined
  attributes?: Attributes
}

/** A span that has begun. */
export type Span = {
  traceparent: Traceparent
  add(attributes: Attributes): void
  /** Ends the span, as failed if there is an error. */
  end(error?: unknown): void
}

/** Begins spans. Undefined wherever it is optional while tracing is off, so that it costs nothing. */
export type Tracing = { begin(name: string, details: SpanDetails): Span }
