import { noValue, readNumber, unusable } from '../conversions.ts'
import { isRecord } from '../json.ts'

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

const isCode = (text: string) => /^\d{2,3}$/.test(text)

/** Returns the network of `cell_info`. Its codes are text, because an MNC of "01" is not "1". */
export function plmnOfCells(cells: unknown): unknown {
  const cell = firstCell(cells)
  if (!cell) return unusable
  const { mcc, mnc } = cell
  if (mcc === undefined || mnc === undefined) return noValue
  const [country, network] = [String(mcc), String(mnc)]
  return isCode(country) && isCode(network) ? country + network : unusable
}

/** Older firmware reports tenths of a degree. */
export function degreesC(value: unknown): unknown {
  const sent = readNumber(value)
  if (typeof sent !== 'number') return unusable
  return Math.abs(sent) > 150 ? sent / 10 : sent
}
