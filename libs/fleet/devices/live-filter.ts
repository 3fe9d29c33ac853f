/** What a list knows of devices beside the registry: from the live map, the totals of data use, and the nearest towns. */
export type LiveFilter = {
  /** One of these classes of the signal; `unknown`: no signal in the last 24 hours. */
  signal?: string[] | undefined
  /** The radio technology. */
  rat?: string | undefined
  /** MCC and MNC of the operator. */
  plmn?: string | undefined
  modems?: ModemCondition | undefined
  /** A part of the name of the nearest town, regardless of case and accents. */
  near?: string | undefined
  /** The device must have used at least so much on this UTC day. */
  minTodayBytes?: number | undefined
  /** The same since the start of this UTC month. */
  minMonthBytes?: number | undefined
}

/** `several`: more than one modem reported in the last 24 hours. `withoutService`: one of them has no service. */
export const modemConditions = ['several', 'withoutService'] as const
type ModemCondition = (typeof modemConditions)[number]

type LiveSource = 'map' | 'towns' | 'dataUse'

const sourceOfMember: Record<keyof LiveFilter, LiveSource> = {
  signal: 'map',
  rat: 'map',
  plmn: 'map',
  modems: 'map',
  near: 'towns',
  minTodayBytes: 'dataUse',
  minMonthBytes: 'dataUse',
}

/** What a list can be sorted by beside the registry. Devices without a value come last in both directions. */
const sourceOfSort = {
  signal: 'map',
  operator: 'map',
  modems: 'map',
  near: 'towns',
  dataToday: 'dataUse',
  dataMonth: 'dataUse',
} as const satisfies Record<string, LiveSource>
export type LiveSortKey = keyof typeof sourceOfSort
export type LiveSort = LiveSortKey | `-${LiveSortKey}`

const liveSortKeys = Object.keys(sourceOfSort) as LiveSortKey[]
export const liveSorts = liveSortKeys.flatMap((key): LiveSort[] => [key, `-${key}`])

export const isLiveSort = (sort: string | undefined): sort is LiveSort => liveSorts.some((one) => one === sort)

/** The key of an order without its direction. */
export const liveSortKey = (sort: LiveSort): LiveSortKey => sort.replace('-', '') as LiveSortKey

/** The sources that a filter and an order ask. */
export function liveSources(filter: LiveFilter, sort?: LiveSort): ReadonlySet<LiveSource> {
  const members = Object.keys(sourceOfMember) as (keyof LiveFilter)[]
  const asked = members.filter((member) => filter[member] !== undefined).map((member) => sourceOfMember[member])
  return new Set(sort === undefined ? asked : [...asked, sourceOfSort[liveSortKey(sort)]])
}

/** Whether a filter has a member that the registry cannot answer. */
export const asksLive = (filter: LiveFilter): boolean => liveSources(filter).size > 0

/** The devices that these sources select for a list, in its order: of a live sort, else the newest first. */
export type LiveSelection = {
  organizationIds: readonly string[]
  /** The ids of all devices. */
  ids: readonly string[]
  /** The first ids after a position of the order. */
  following(position: string | undefined, count: number): Promise<readonly string[]>
  positionOf(deviceId: string): string
}
