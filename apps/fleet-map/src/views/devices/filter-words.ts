import type { ConfigState, DeviceStatus, Quality } from '../../api/schemas.ts'
import { dataSize, duration } from '../../components/format.ts'
import { configStateLabel, qualityLabel, statusLabel } from '../../components/label-text.ts'
import { type FilterParam, filtersInAddress } from './list-filter.ts'

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

const ratLabel = (rat: string): string => (rat === 'none' ? 'No service' : rat.toUpperCase())

/** The names of objects that the address has by their ids. */
export type FilterNames = Partial<Record<FilterParam, string | undefined>>

const texts: Record<FilterParam, (value: string, name: string | undefined) => string> = {
  q: (value) => `“${value}”`,
  status: (value) => statusLabel(value as DeviceStatus) ?? value,
  tag: (value) => `${value.includes(',') ? 'Tags' : 'Tag'} ${value.split(',').join(', ')}`,
  group: (_, name) => `Group ${name ?? '…'}`,
  place: (_, name) => (name ? `In ${name}` : 'In a place'),
  bbox: () => 'In the view of the map',
  signal: (value) =>
    value === badSignal
      ? 'Bad signal'
      : `Signal ${value
          .split(',')
          .map((one) => (signalWords[one] ?? one).toLowerCase())
          .join(' or ')}`,
  rat: ratLabel,
  plmn: (value, name) => name ?? value,
  modems: (value) => modemOptions.find(([one]) => one === value)?.[1] ?? value,
  near: (value) => `Near ${value}`,
  today: (value) => `${dataSize(Number(value))} or more today`,
  month: (value) => `${dataSize(Number(value))} or more this month`,
  firmware: (value) => `Firmware ${value}`,
  config: (value) => `Config ${configStateLabel[value as ConfigState]?.toLowerCase() ?? value}`,
  seen: (value) => `Report in the last ${duration(Number(value) * 60)}`,
  silent: (value) => `No report for ${duration(Number(value) * 60)}`,
}

/** What a filter asks for, such as "Bad signal". */
export const filterWords = (param: FilterParam, value: string, names: FilterNames): string =>
  texts[param](value, names[param])

/** What the filter in the address asks for, such as "“truck”, Offline"; '' for all devices. */
export const filterText = (names: FilterNames = {}): string =>
  filtersInAddress()
    .map(([param, value]) => filterWords(param, value, names))
    .join(', ')
