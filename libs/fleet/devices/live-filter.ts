/** What the live map knows of devices. The registry does not have it. */
export type LiveFilter = {
  /** One of these classes of the signal; `unknown`: no signal in the last 24 hours. */
  signal?: string[] | undefined
  /** The radio technology. */
  rat?: string | undefined
  /** MCC and MNC of the operator. */
  plmn?: string | undefined
  modems?: ModemCondition | undefined
}

/** `several`: more than one modem reported in the last 24 hours. `withoutService`: one of them has no service. */
export const modemConditions = ['several', 'withoutService'] as const
type ModemCondition = (typeof modemConditions)[number]

/** Whether a filter has a member that only the live map can answer. */
export const asksLive = ({ signal, rat, plmn, modems }: LiveFilter): boolean =>
  [signal, rat, plmn, modems].some((member) => member !== undefined)

/** What the live map sorts by. Devices without a value come last in both directions. */
const liveSortKeys = ['signal', 'operator', 'modems'] as const
type LiveSortKey = (typeof liveSortKeys)[number]
export type LiveSort = LiveSortKey | `-${LiveSortKey}`

export const liveSorts = liveSortKeys.flatMap((key): LiveSort[] => [key, `-${key}`])

export const isLiveSort = (sort: string | undefined): sort is LiveSort => liveSorts.some((one) => one === sort)

/** The devices that the live map selects for a list, in its order: of a live sort, else the newest first. */
export type LiveSelection = {
  organizationIds: readonly string[]
  /** The ids of all devices. */
  ids: readonly string[]
  /** The first ids after a position of the order. */
  following(position: string | undefined, count: number): Promise<readonly string[]>
  positionOf(deviceId: string): string
}
