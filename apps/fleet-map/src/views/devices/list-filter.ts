import type { BodyOf, Operation, QueryOf } from '../../api/operations.ts'
import { place } from '../../state/url.ts'

type ListQuery = QueryOf<Operation<'get', '/devices'>>

/** The filter of the device list as the API's bulk requests take it. */
export type BulkFilter = NonNullable<BodyOf<Operation<'post', `/orgs/${string}/device-tags`>>['filter']>

/** The filter of the device list, as requests of a list send it; '' and null for what is not filtered. */
export type ListFilter = Required<
  Pick<
    ListQuery,
    'q' | 'status' | 'placeId' | 'configState' | 'groupId' | 'firmware' | 'bbox' | 'rat' | 'plmn' | 'modems' | 'near'
  >
> & {
  tag: string[] | null
  signal: NonNullable<ListQuery['signal']> | null
  seenWithinMinutes: number | null
  silentForMinutes: number | null
  minTodayBytes: number | null
  minMonthBytes: number | null
}

/** The parameters of the address for the members of the filter. The map has the same ones. */
const filterParams = {
  q: 'q',
  status: 'status',
  tag: 'tag',
  group: 'groupId',
  place: 'placeId',
  bbox: 'bbox',
  signal: 'signal',
  rat: 'rat',
  plmn: 'plmn',
  modems: 'modems',
  near: 'near',
  today: 'minTodayBytes',
  month: 'minMonthBytes',
  firmware: 'firmware',
  config: 'configState',
  seen: 'seenWithinMinutes',
  silent: 'silentForMinutes',
} as const satisfies Record<string, keyof ListFilter>

export type FilterParam = keyof typeof filterParams
const filterParamNames = Object.keys(filterParams) as FilterParam[]

/** A search of the service has at least two characters. */
const sought = (text: string): string => {
  const trimmed = text.trim()
  return trimmed.length >= 2 ? trimmed : ''
}
// The service refuses words that it does not know.
const word = <Word extends string>(text: string) => text as Word
const words = <Word extends string>(text: string) => (text ? (text.split(',') as Word[]) : null)
const number = (text: string): number | null => Number(text) || null

/** The members of the filter, from the text that the address has for them. */
const readers: { [Member in keyof ListFilter]: (text: string) => ListFilter[Member] } = {
  q: sought,
  status: word,
  tag: words,
  groupId: word,
  placeId: word,
  bbox: word,
  signal: words,
  rat: word,
  plmn: word,
  modems: word,
  near: sought,
  minTodayBytes: number,
  minMonthBytes: number,
  firmware: word,
  configState: word,
  seenWithinMinutes: number,
  silentForMinutes: number,
}

const memberOf = (param: FilterParam, text: string): Partial<ListFilter> => {
  const member = filterParams[param]
  return { [member]: readers[member](text) }
}

/** Returns the filter of the device list that the address has. */
export const filterInAddress = (): ListFilter =>
  Object.assign({}, ...filterParamNames.map((param) => memberOf(param, place.value.params[param] ?? '')))

/** Returns what one parameter of the address filters by; nothing for a value that filters nothing. */
export const filterOf = (param: FilterParam, text: string): BulkFilter => bulkFilterOf(memberOf(param, text))

/** The parameters of the address that filter, and their values. */
export const filtersInAddress = (): [name: FilterParam, value: string][] =>
  filterParamNames.flatMap((name): [FilterParam, string][] => {
    const value = place.value.params[name] ?? ''
    return Object.keys(filterOf(name, value)).length > 0 ? [[name, value]] : []
  })

/** The changes of the address that end all filters. */
export const noFilter: Record<FilterParam, null> = Object.fromEntries(
  filterParamNames.map((name) => [name, null]),
) as Record<FilterParam, null>

/** The filter as bulk requests take it. */
export function bulkFilterOf({ bbox, ...filter }: Partial<ListFilter>): BulkFilter {
  const members = Object.entries(filter).filter(([, value]) => value !== '' && value !== null)
  const box = bbox ? { bbox: bbox.split(',').map(Number) } : {}
  return { ...Object.fromEntries(members), ...box } as BulkFilter
}
