import type { Tracing } from '#core/tracing'

/** `tracing` is undefined while it is off. `stop` sends the last spans. */
type OpenTracing = { tracing: Tracing | undefined; stop(): Promise<void> }

/**
 * Opens the export of traces to an OpenTelemetry collector at the base address `endpoint` (OTLP over HTTP). Without an
 * endpoint, tracing is off, and none of OpenTelemetry is loaded.
 */
export async function openTracing(app: string, endpoint: string | undefined): Promise<OpenTracing> {
  if (endpoint === undefined) return { tracing: undefined, stop: async () => {} }
  const { createOtlpTracing } = await import('./otlp-tracing.ts')
  return createOtlpTracing(app, endpoint)
}
