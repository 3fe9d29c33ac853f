import type { Context } from 'hono'
import { ServiceError } from '#core/errors'

/** The media type of Parquet that is registered with IANA. */
export const parquetType = 'application/vnd.apache.parquet'

/** The documented response for an `Accept` header without a format of the route. */
export const notAcceptable = {
  406: { description: 'Without `format`, `Accept` has none of the media types (`not_acceptable`).' },
}

type Range = { type: string; weight: number }

/**
 * The format of a response: `asked` if the query has one, otherwise the one that `Accept` prefers (RFC 9110, 12.5.1), and among
 * equals the first. Throws 406 if `Accept` has none of them.
 */
export function acceptedFormat<Format extends string>(
  http: Context,
  asked: Format | undefined,
  offered: Record<Format, string>,
): Format {
  const formats = Object.keys(offered) as [Format, ...Format[]]
  const header = http.req.header('accept')
  if (asked !== undefined || !header?.trim()) return asked ?? formats[0]
  const ranges = rangesOf(header)
  const ranked = formats
    .map((format) => ({ format, ...matchOf(offered[format], ranges) }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight || b.detail - a.detail)
  const [best] = ranked
  if (best) return best.format
  const types = Object.values<string>(offered).map(plainType)
  throw new ServiceError(406, 'not_acceptable', `Accept one of ${types.join(', ')}, or send the parameter format.`)
}

const plainType = (type: string): string => type.split(';')[0]?.trim().toLowerCase() ?? ''

function rangesOf(header: string): Range[] {
  return header.split(',').map((part) => {
    const weight = part.split(';').find((parameter) => /^\s*q=/i.test(parameter))
    const value = weight === undefined ? 1 : Number(weight.split('=')[1])
    return { type: plainType(part), weight: Number.isNaN(value) ? 0 : value }
  })
}

/** The weight of the most detailed range that a type is in. */
function matchOf(offered: string, ranges: readonly Range[]): { weight: number; detail: number } {
  const type = plainType(offered)
  const inOrder = [type, `${type.split('/')[0]}/*`, '*/*']
  for (const [index, wanted] of inOrder.entries()) {
    const found = ranges.find((range) => range.type === wanted)
    if (found) return { weight: found.weight, detail: inOrder.length - index }
  }
  return { weight: 0, detail: 0 }
}
