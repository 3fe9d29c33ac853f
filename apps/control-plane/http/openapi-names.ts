import { z } from 'zod'
import type { Route } from './route.ts'

type Json = Record<string, unknown>
type NamedByPath = Pick<Route, 'method' | 'path' | 'operationId' | 'answers'>

/** The verbs that begin an `operationId`. */
export const operationVerbs = [
  'accept',
  'acknowledge',
  'add',
  'answer',
  'apply',
  'cancel',
  'check',
  'close',
  'create',
  'delete',
  'enroll',
  'export',
  'finish',
  'forecast',
  'get',
  'import',
  'list',
  'pause',
  'redeliver',
  'replace',
  'report',
  'resume',
  'retry',
  'rollBack',
  'rotate',
  'send',
  'start',
  'stream',
  'test',
  'transfer',
  'update',
] as const

/** What a segment of a path stands for, where the path has a shorter word than the schema. */
const nouns: Record<string, string> = {
  audit: 'audit-records',
  configs: 'config-profiles',
  firmware: 'firmware-images',
  me: 'caller',
  orgs: 'organizations',
  views: 'saved-views',
}

/** Segments that only group paths. */
const areas = new Set(['auth', 'fleet'])

const camelCase = (words: string) =>
  words
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word, index) => (index === 0 ? word : capitalized(word)))
    .join('')

const capitalized = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)

/** `an-api-key` as `AnApiKey`. */
export const pascalCase = (words: string) => capitalized(camelCase(words))

/** The singular of a plural noun at the end of words. */
export function singular(noun: string): string {
  if (noun.endsWith('people')) return noun.replace(/people$/, 'person')
  if (noun.endsWith('ies')) return noun.replace(/ies$/, 'y')
  if (/(ss|ch)es$/.test(noun)) return noun.slice(0, -2)
  return noun.endsWith('s') ? noun.slice(0, -1) : noun
}

const isParameter = (segment: string | undefined) => segment?.startsWith(':') ?? false

/**
 * The verb and the noun of a route in camelCase: its own `operationId`, or one from its method and path. A segment before a
 * parameter is one object, so `/devices/:id/jobs` has the noun `DeviceJobs`. The organization is part of no noun. A path
 * can end with a verb: `POST /orgs/:orgId/jobs/:id/cancel` is `cancelJob`.
 */
export function operationIdOf(route: NamedByPath): string {
  if (route.operationId !== undefined) return route.operationId
  const segments = withoutOrganization(route.path.split('/').filter((part) => part !== '' && !areas.has(part)))
  const last = segments.at(-1) ?? ''
  const verb = operationVerbs.find((word) => word === camelCase(last))
  const named = verb ? segments.slice(0, -1) : segments
  const noun = named.map((segment, index) => nounAt(named, segment, index)).join('')
  if (verb) return verb + noun
  if (route.method === 'post') return `create${singular(noun)}`
  const byMethod = { get: isList(route) ? 'list' : 'get', put: 'replace', patch: 'update', delete: 'delete' }
  return byMethod[route.method] + noun
}

function withoutOrganization(segments: string[]): string[] {
  return segments[0] === 'orgs' && segments.length > 2 ? segments.slice(2) : segments
}

function nounAt(segments: readonly string[], segment: string, index: number): string {
  if (isParameter(segment)) return ''
  const noun = nouns[segment] ?? segment
  return pascalCase(isParameter(segments[index + 1]) ? singular(noun) : noun)
}

const isList = ({ answers }: NamedByPath): boolean => {
  const { schema } = answers[200] ?? {}
  return schema instanceof z.ZodObject && 'nextCursor' in schema.shape
}

/** The name of the schema of an operation's body. */
export const requestName = (operationId: string): string => `${pascalCase(operationId)}Request`

/** The name of the schema of an operation's response. A page of a list has the name of its items: `DevicePage`. */
export function resultName(operationId: string, { properties }: { properties?: Json }): string {
  const { items } = (properties ?? {}) as { items?: { items?: { $ref?: string } } }
  const item = items?.items?.$ref?.split('/').at(-1)
  return item === undefined ? `${pascalCase(operationId)}Result` : `${item}Page`
}
