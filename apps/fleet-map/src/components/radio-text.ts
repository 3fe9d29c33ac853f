import { signedText } from '#core/quantity-text'
import type { RadioHealth } from '../api/schemas.ts'
import { plural } from './format.ts'

export const radioStatusText: Record<RadioHealth['status'], string> = {
  fault: 'Weak antenna',
  suspect: 'Probably weak',
  ok: 'As its neighbours',
  unknown: 'Not known yet',
}

/** Formats the 95 % interval as "−7.0 to −5.5 dB"; "–" if unknown. */
export const intervalText = ({ offsetLowDb, offsetHighDb }: RadioHealth): string =>
  offsetLowDb === null || offsetHighDb === null
    ? '–'
    : `${signedText(offsetLowDb)} to ${signedText(offsetHighDb)}\u00a0dB`

/** With how many routers and in how many cells a radio was compared. */
export const comparedText = ({ comparedDevices, sharedCells }: RadioHealth): string =>
  `${plural(comparedDevices, 'router')} in ${plural(sharedCells, 'cell')}`
