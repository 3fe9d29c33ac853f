import { noValue, readNumber, text, unusable } from '../conversions.ts'
import { isRecord } from '../json.ts'
import { plmnOf } from '../plmn.ts'

/** Returns the first cell of `cell_info`; undefined if it is not a list. */
function firstCell(cells: unknown): Record<string, unknown> | undefined {
  if (!Array.isArray(cells)) return undefined
  return isRecord(cells[0]) ? cells[0] : {}
}

function memberOf(cells: unknown, name: string): unknown {
  const cell = firstCell(cells)
  if (!cell) return unusable
  const value = cell[name]
  return value === undefined || value === 'N/A' ? noValue : readNumber(value)
}

export const arfcnOfCells = (cells: unknown): unknown => memberOf(cells, 'earfcn')
export const pciOfCells = (cells: unknown): unknown => memberOf(cells, 'pcid')

/** Returns the network of `cell_info`. */
export function plmnOfCells(cells: unknown): unknown {
  const cell = firstCell(cells)
  return cell ? plmnOf(cell.mcc, cell.mnc) : unusable
}

/** Returns the network of `serving`, such as `3,LTE,FDD,262,01` or `3,NR5G-SA,TDD,262,01`. */
export function plmnOfServing(value: unknown): unknown {
  if (typeof value !== 'string') return unusable
  const [, country, network] = /,(\d{3}),(\d{1,3})(?:,|$)/.exec(value) ?? []
  return country === undefined ? noValue : plmnOf(country, network)
}

/** Returns the network of `network`, such as `5G-NSA,26201`. */
export function plmnOfNetwork(value: unknown): unknown {
  if (typeof value !== 'string') return unusable
  return /,(\d{5,6})$/.exec(value.trim())?.[1] ?? noValue
}

/** Returns the `id` of a modem in answers of the API, which is its place on the USB bus. Records of other things have ids too. */
export const modemOfId = (id: unknown): unknown =>
  typeof id === 'string' && /^\d{1,3}-\d{1,3}(?:\.\d{1,3}){0,6}$/.test(id.trim()) ? id.trim() : unusable

/** Returns the first address of `ip`, a list or a text. */
export function firstAddress(value: unknown): unknown {
  const first = Array.isArray(value) ? value[0] : value
  if (first === undefined || first === '') return noValue
  return text.read(first)
}

/** Temperatures that a modem in use can have, in °C. */
const coldest = -40
const hottest = 100
const isTemperature = (celsius: number) => celsius >= coldest && celsius <= hottest

/**
 * `temperature` of a record comes in °C and in tenths of °C, which differs with the firmware. A value that fits both is
 * unknown.
 */
export function degreesOrTenths(value: unknown): unknown {
  const sent = readNumber(value)
  if (typeof sent !== 'number') return unusable
  const [isWhole, isTenths] = [isTemperature(sent), isTemperature(sent / 10)]
  if (isWhole === isTenths) return unusable
  return isTenths ? sent / 10 : sent
}

/** Returns °C of the API. Only its older firmware has tenths of °C, which are told by what no report may hold as °C. */
export function apiDegrees(value: unknown): unknown {
  const sent = readNumber(value)
  if (typeof sent !== 'number') return unusable
  return sent >= -60 && sent <= 150 ? sent : sent / 10
}

/** The router's API has whole degrees, so its `temperature` has a line of its own in the table. */
export function withApiUnits({ temperature, ...part }: Record<string, unknown>): Record<string, unknown> {
  return temperature === undefined ? part : { ...part, api_temperature: temperature }
}
