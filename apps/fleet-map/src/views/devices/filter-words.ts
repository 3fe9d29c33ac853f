import type { DeviceFilter, JobBatch, Quality } from '../../api/schemas.ts'
import { dataSize, duration } from '../../components/format.ts'
import { configStateLabel, qualityLabel, statusLabel, statusLook } from '../../components/label-text.ts'

const badSignal = 'poor,none'

const signalWords: Record<string, string> = { ...qualityLabel, none: 'No service', unknown: 'Unknown' }

/** The classes of the signal that a person can choose. */
export const signalOptions: readonly [value: string, label: string][] = [
  [badSignal, 'Bad signal'],
  ...(['none', 'poor', 'fair', 'good', 'excellent'] satisfies Quality[]).map((one): [string, string] => [
    one,
    signalWords[one] ?? one,
  ]),
  ['unknown', 'Unknown signal'],
]

export const modemOptions: readonly [value: string, label: string][] = [
  ['withoutService', 'A modem without service'],
  ['several', 'Several modems'],
]

const size = (bytes: number): [value: string, label: string] => [String(bytes), `${dataSize(bytes)} or more`]
export const todayOptions = [10e6, 100e6, 500e6, 1e9, 5e9].map(size)
export const monthOptions = [100e6, 1e9, 5e9, 10e9, 50e9].map(size)

/** The name of a radio technology. */
export const ratLabel = (rat: string): string => (rat === 'none' ? 'No service' : rat.toUpperCase())

/** The word for a value; the value itself if an address has one that the service does not know. */
const wordFor = (value: string, words: Readonly<Record<string, string>>): string =>
  (Object.hasOwn(words, value) ? words[value] : undefined) ?? value

type FilterOfBatch = Extract<JobBatch['target'], { filter: object }>['filter']
type Valued<Filter, Member> = Member extends keyof Filter ? NonNullable<Filter[Member]> : never
type FilterValues = {
  [Member in keyof DeviceFilter | keyof FilterOfBatch]: Valued<DeviceFilter, Member> | Valued<FilterOfBatch, Member>
}
type FilterMember = keyof FilterValues
/** A filter of devices, as requests have it and as a batch keeps it. */
export type WordedFilter = { [Member in FilterMember]?: FilterValues[Member] | undefined }

/** The names of the objects that a filter has by their ids. */
export type FilterNames = Partial<Record<FilterMember, string | undefined>>

const texts: { [Member in FilterMember]: (value: FilterValues[Member], name: string | undefined) => string } = {
  q: (text) => `“${text}”`,
  status: (status) => (Object.hasOwn(statusLook, status) ? statusLabel(status) : status),
  tag: (tags) => `${tags.length > 1 ? 'Tags' : 'Tag'} ${tags.join(', ')}`,
  groupId: (_, name) => (name ? `Group ${name}` : 'In a group'),
  placeId: (_, name) => (name ? `In ${name}` : 'In a place'),
  bbox: () => 'In the view of the map',
  signal: (classes) =>
    classes.toSorted().join() === badSignal.split(',').toSorted().join()
      ? 'Bad signal'
      : `Signal ${classes.map((one) => wordFor(one, signalWords).toLowerCase()).join(' or ')}`,
  rat: ratLabel,
  plmn: (plmn, name) => name ?? plmn,
  modems: (condition) => wordFor(condition, Object.fromEntries(modemOptions)),
  near: (town) => `Near ${town}`,
  minTodayBytes: (bytes) => `${dataSize(bytes)} or more today`,
  minMonthBytes: (bytes) => `${dataSize(bytes)} or more this month`,
  firmware: (version) => `Firmware ${version}`,
  configState: (state) => `Config ${wordFor(state, configStateLabel).toLowerCase()}`,
  seenWithinMinutes: (minutes) => `Report in the last ${duration(minutes * 60)}`,
  silentForMinutes: (minutes) => `No report for ${duration(minutes * 60)}`,
}
const members = Object.keys(texts) as FilterMember[]

function wordsOf<Member extends FilterMember>(member: Member, filter: WordedFilter, names: FilterNames): string[] {
  const value: FilterValues[Member] | undefined = filter[member]
  return value === undefined ? [] : [texts[member](value, names[member])]
}

/** What a filter asks for, such as "“truck”, Offline"; '' for all devices. */
export const filterText = (filter: WordedFilter, names: FilterNames = {}): string =>
  members.flatMap((member) => wordsOf(member, filter, names)).join(', ')
