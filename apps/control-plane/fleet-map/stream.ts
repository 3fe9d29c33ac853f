import { ServiceError } from '#core/errors'
import type { FleetContext } from '#fleet/context'
import type { FleetMaps } from './fleet-maps.ts'
import { openGps, readGps } from './gps.ts'
import { gpsBody } from './gps-formats.ts'
import type { GpsQuery } from './query.ts'

const tickMs = 2_000
// Proxies close what stays silent; a comment is no event.
const silenceMs = 15_000

/**
 * Server-sent events: one `snapshot`, or from `query.since` on at once a `delta` whenever something changed; the event's
 * id is its `asOf`. `stillAllowed` is asked before each event: what it throws ends the stream with an `error` event.
 */
export function streamGps(
  ctx: FleetContext,
  fleet: FleetMaps,
  query: GpsQuery,
  stillAllowed: () => Promise<FleetContext['principal']>,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let since = query.since
  let spokeMs = 0
  let timer: NodeJS.Timeout | undefined

  const nextEvent = async (): Promise<string> => {
    const within = { ...ctx, principal: await stillAllowed() }
    const request = await openGps(within, { ...query, since })
    const picture = await readGps(within, fleet, request)
    const isDelta = since !== undefined
    since = picture.asOf
    const { selection, coverage, dwells, gone } = picture
    const isSilent = isDelta && selection.devices.length + coverage.length + dwells.length + gone.length === 0
    if (!isSilent) {
      const body = JSON.stringify(gpsBody(picture, request, null))
      return `event: ${isDelta ? 'delta' : 'snapshot'}\nid: ${picture.asOf}\ndata: ${body}\n\n`
    }
    return ctx.clock() - spokeMs > silenceMs ? ': still here\n\n' : ''
  }

  return new ReadableStream({
    async pull(controller) {
      try {
        for (;;) {
          const event = await nextEvent()
          if (event !== '') {
            spokeMs = ctx.clock()
            controller.enqueue(encoder.encode(event))
          }
          await new Promise<void>((resolve) => {
            timer = setTimeout(resolve, tickMs)
          })
          if (event !== '') return
        }
      } catch (error) {
        controller.enqueue(encoder.encode(errorEvent(error)))
        controller.close()
      }
    },
    cancel() {
      clearTimeout(timer)
    },
  })
}

function errorEvent(error: unknown): string {
  const { code, message } =
    error instanceof ServiceError ? error : { code: 'unavailable', message: 'Try again shortly.' }
  return `event: error\ndata: ${JSON.stringify({ code, detail: message })}\n\n`
}
