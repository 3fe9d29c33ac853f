import { chunkedResponse } from '#http/chunked-body'
import { chooseCoding } from '#http/compression'
import { jsonChunks } from '#http/json-chunks'
import type { RouteInput } from '../../http/route.ts'

/**
 * The response of this key, rendered and compressed once for all callers: within a second if it is one of a moment, and while
 * its list is read otherwise.
 */
export async function sharedResponse(
  { ctx, services, http }: RouteInput<unknown, unknown, unknown>,
  of: 'moment' | 'list',
  key: string,
  headers: Headers,
  body: () => Promise<unknown>,
): Promise<Response> {
  const coding = chooseCoding(http.req.header('accept-encoding'))
  const owner = ctx.principal.rateLimit.key
  const chunks = await services.fleetMaps.answers.read(of, key, owner, coding, async function* () {
    yield* jsonChunks(await body())
  })
  if (coding) headers.set('Content-Encoding', coding)
  return chunkedResponse(chunks, { headers })
}
