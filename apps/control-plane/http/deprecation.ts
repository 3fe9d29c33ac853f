import type { Deprecated, Route } from './route.ts'

/** A deprecated part of the API that a request uses: an operation, or one of its query parameters. */
export type DeprecatedUse = Deprecated & { parameter?: string }

/** Returns what the request uses of the deprecated parts of a route. `query` has its parameters by name. */
export function deprecatedUses(
  { deprecated, deprecatedQuery = {} }: Route,
  query: Readonly<Record<string, string>>,
): DeprecatedUse[] {
  const parameters = Object.entries(deprecatedQuery).filter(([name]) => Object.hasOwn(query, name))
  return [...(deprecated ? [deprecated] : []), ...parameters.map(([parameter, terms]) => ({ ...terms, parameter }))]
}

/**
 * The headers of a response to a request that uses deprecated parts: `Deprecation` (RFC 9745), `Sunset` (RFC 8594) and links to
 * the documentation. If there are several, the earliest dates.
 */
export function deprecationHeaders(uses: readonly Deprecated[], documentation: string): Record<string, string> {
  const earliest = (dates: string[]) => new Date(dates.sort()[0] ?? '')
  const since = earliest(uses.map((use) => use.since))
  const sunset = earliest(uses.map((use) => use.sunset))
  const links = ['deprecation', 'sunset'].map((relation) => `<${documentation}>; rel="${relation}"; type="text/html"`)
  return { Deprecation: `@${since.getTime() / 1000}`, Sunset: sunset.toUTCString(), Link: links.join(', ') }
}

/** The members of a deprecated operation or parameter in the OpenAPI document. */
export const deprecationMembers = (terms: Deprecated | undefined): { deprecated?: true; 'x-sunset'?: string } =>
  terms ? { deprecated: true, 'x-sunset': terms.sunset } : {}

/** The sentences about a deprecated part in its description. */
export const deprecationText = ({ since, sunset, use }: Deprecated): string =>
  [`Deprecated since ${since}. It can be removed after ${sunset}.`, ...(use ? [`Use ${use} instead.`] : [])].join(' ')
