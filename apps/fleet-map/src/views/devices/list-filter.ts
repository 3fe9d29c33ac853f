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

const words = (text: string | undefined): string[] | null => (text ? text.split(',') : null)
const number = (text: string | undefined): number | null => Number(text) || null

/** A search of the service has at least two characters. */
const sought = (text: string | undefined): string => {
  const trimmed = text?.trim() ?? ''
  return trimmed.length >= 2 ? trimmed : ''
}

/** Returns the filter of the device list that the address has. */
export function filterInAddress(): ListFilter {
  const { params } = place.value
  // The service refuses words that it does not know.
  return {
    q: sought(params.q),
    status: params.status ?? '',
    tag: words(params.tag),
    groupId: params.group ?? '',
    placeId: params.place ?? '',
    bbox: params.bbox ?? '',
    signal: words(params.signal),
    rat: params.rat ?? '',
    plmn: params.plmn ?? '',
    modems: params.modems ?? '',
    near: sought(params.near),
    minTodayBytes: number(params.today),
    minMonthBytes: number(params.month),
    firmware: params.firmware ?? '',
    configState: params.config ?? '',
    seenWithinMinutes: number(params.seen),
    silentForMinutes: number(params.silent),
  } as ListFilter
}

/** The parameters of the address that filter, and their values. */
export const filtersInAddress = (): [name: FilterParam, value: string][] =>
  filterParamNames.flatMap((name): [FilterParam, string][] => {
    const value = place.value.params[name]
    return value ? [[name, value]] : []
  })

/** The changes of the address that end all filters. */
export const noFilter: Record<FilterParam, null> = Object.fromEntries(
  filterParamNames.map((name) => [name, null]),
) as Record<FilterParam, null>

/** The filter as bulk requests take it. */
export function bulkFilterOf({ bbox, ...filter }: ListFilter): BulkFilter {
  const members = Object.entries(filter).filter(([, value]) => value !== '' && value !== null)
  const box = bbox ? { bbox: bbox.split(',').map(Number) } : {}
  return { ...Object.fromEntries(members), ...box } as BulkFilter
}
