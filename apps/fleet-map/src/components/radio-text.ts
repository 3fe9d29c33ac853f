import type { RadioHealth } from '../api/schemas.ts'
import { plural } from './format.ts'

export const radioStatusText: Record<RadioHealth['status'], string> = {
  fault: 'Weak antenna',
  suspect: 'Probably weak',
  ok: 'As its neighbours',
  unknown: 'Not known yet',
}

const signed = (decibels: number): string =>
  `${decibels > 0 ? '+' : decibels < 0 ? '−' : ''}${Math.abs(decibels).toFixed(1)}`

/** Formats an offset as "−6.2 dB"; "–" if unknown. */
export const offsetText = (decibels: number | null): string => (decibels === null ? '–' : `${signed(decibels)}\u00a0dB`)

/** Formats the 95 % interval as "−7.0 to −5.5 dB"; "–" if unknown. */
export const intervalText = ({ offsetLowDb, offsetHighDb }: RadioHealth): string =>
  offsetLowDb === null || offsetHighDb === null ? '–' : `${signed(offsetLowDb)} to ${signed(offsetHighDb)}\u00a0dB`

/** With how many routers and in how many cells a radio was compared. */
export const comparedText = ({ comparedDevices, sharedCells }: RadioHealth): string =>
  `${plural(comparedDevices, 'router')} in ${plural(sharedCells, 'cell')}`
