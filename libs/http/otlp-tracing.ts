import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Span, Traceparent, Tracing } from '#core/tracing'

const kinds = {
  server: SpanKind.SERVER,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
}

/** Time between exports. A trace is complete in the collector soon after its last span has ended. */
const exportEveryMs = 1_000

/**
 * Sends spans of this app to an OpenTelemetry collector, in the background. While the collector is away, spans are dropped.
 * Uses no context manager: the caller passes the parent of each span.
 */
export function createOtlpTracing(app: string, endpoint: string): { tracing: Tracing; stop(): Promise<void> } {
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces`, timeoutMillis: 5_000 })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.namespace': 'routerfleet', 'service.name': app }),
    spanProcessors: [new BatchSpanProcessor({ exporter, scheduledDelayMillis: exportEveryMs })],
  })
  const tracer = provider.getTracer('routerfleet')
  const tracing: Tracing = {
    begin(name, { kind, parent, attributes = {} }) {
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, contextOf(parent))
      const { traceId, spanId, traceFlags } = span.spanContext()
      return {
        traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`,
        add: (more) => void span.setAttributes(more),
        end(error) {
          if (error !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) })
          span.end()
        },
      } satisfies Span
    },
  }
  // A collector that is away must not delay the stop of the app, nor fail it.
  return { tracing, stop: () => provider.shutdown().catch(() => undefined) }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.name : 'Error')

const pattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

/** The context of a parent in another process. Ignores a value that is not W3C Trace Context. */
function contextOf(parent: Traceparent | null | undefined): Context {
  const [, traceId, spanId, flags] = pattern.exec(parent ?? '') ?? []
  if (!traceId || !spanId || !flags) return ROOT_CONTEXT
  return trace.setSpanContext(ROOT_CONTEXT, {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
  })
}
