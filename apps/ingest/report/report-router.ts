import { adapters } from '#adapters/adapters'
import { reportPath } from '#device-edge/contract'
import type { NodeRoute } from '../http/node-response.ts'
import { adapterProtocol } from './adapter-protocol.ts'
import type { ReportProtocol } from './report-protocol.ts'

/** Returns a function that finds the route of a POST of telemetry by its URL: ours, or the one of an adapter. */
export function createReportRouter(
  routeOf: (protocol?: ReportProtocol) => NodeRoute,
): (url: string) => NodeRoute | undefined {
  const own = routeOf()
  const foreign = adapters.map((adapter) => {
    const [before = '', after = ''] = adapter.path.split(/:\w+/)
    return { before, after, hasId: adapter.path.includes(':'), route: routeOf(adapterProtocol(adapter)) }
  })
  return (url) => {
    const end = url.indexOf('?')
    const path = end < 0 ? url : url.slice(0, end)
    if (path === reportPath) return own
    return foreign.find(({ before, after, hasId }) => {
      if (!hasId) return path === before
      const id = path.slice(before.length, path.length - after.length)
      return path.startsWith(before) && path.endsWith(after) && id !== '' && !id.includes('/')
    })?.route
  }
}
