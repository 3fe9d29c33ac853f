import { ServiceError } from '#core/errors'
import { gpsBody } from '#fleet-map/gps/gps-formats'
import { openGps, sinceRequest } from '#fleet-map/gps/gps-request'
import type { GpsSources } from '#fleet-map/gps/gps-sources'
import { readGpsSince } from '#fleet-map/gps/map-data'
import type { EventStream, Listener } from '#fleet-map/streams/event-stream'
import { type Chunks, collect } from '#http/chunked-body'
import { jsonChunks } from '#http/json-chunks'
import type { Readers } from '#questdb/copies/readers'

// Proxies close silent connections. A comment keeps them open and is not an event.
export const silenceMs = 15_000

/** Sends each stream the changes since its last event. Streams with the same last event share the same bytes. */
export async function sendChanges(
  fleet: GpsSources,
  readers: Readers,
  { ctx, query }: Listener,
  streams: readonly EventStream[],
): Promise<void> {
  const request = await openGps(ctx, { ...query, since: undefined })
  const bySince = [...Map.groupBy(streams, ({ since }) => since)]
  const requests = bySince.map(([since]) => sinceRequest(request, since))
  const answers = await readGpsSince(ctx, fleet, readers.of(ctx.principal.rateLimit.key), requests)
  const encoder = new TextEncoder()
  for (const [index, data] of answers.entries()) {
    const [since, group = []] = bySince[index] ?? []
    const { selection, coverage, dwells, gone, asOf } = data
    const isDelta = since !== undefined
    const isSilent = isDelta && selection.devices.length + coverage.length + dwells.length + gone.length === 0
    const event = isSilent
      ? undefined
      : await eventOf(isDelta ? 'delta' : 'snapshot', asOf, await gpsBody(data, sinceRequest(request, since), null))
    for (const stream of group) {
      if (!stream.takesEvents()) continue
      stream.since = asOf
      if (event) stream.send(event)
      else if (ctx.clock() - stream.sentAtMs() > silenceMs) stream.send([encoder.encode(': keep-alive\n\n')])
    }
  }
}

/** An event with JSON data, in chunks that all streams share. */
const eventOf = (name: string, id: string, data: unknown): Promise<Chunks> =>
  collect(jsonChunks(data, { before: `event: ${name}\nid: ${id}\ndata: `, after: '\n\n' }))

/** The last event of a stream that ends with an error. */
export function errorEvent(error: unknown): Chunks {
  const { code, message } =
    error instanceof ServiceError
      ? error
      : { code: 'unavailable', message: 'Service temporarily unavailable. Retry later.' }
  return [new TextEncoder().encode(`event: error\ndata: ${JSON.stringify({ code, detail: message })}\n\n`)]
}
