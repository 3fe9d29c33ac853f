// Numbers with their units, as people read them on the page and in messages.

const format = (value: number, digits: Intl.NumberFormatOptions): string =>
  value.toLocaleString('en', { signDisplay: 'negative', ...digits }).replace('-', '−')

const mostMeasuredDigits = 3

/** Formats a number that a person entered with all of its digits, as "11.5 V". */
export const enteredText = (value: number, unit: string): string =>
  `${format(value, { maximumFractionDigits: 20 })} ${unit}`

/**
 * Formats a measured number as "−110.4 dBm", so that it does not read as another side of a threshold. With fewer than
 * `leastDigits` digits after the point, zeros follow. "–" for null.
 */
export const measuredText = (value: number | null, unit: string, leastDigits = 0): string =>
  value === null
    ? '–'
    : `${format(value, { minimumFractionDigits: leastDigits, maximumFractionDigits: mostMeasuredDigits })} ${unit}`

/** Formats decibels with their sign and one digit after the point, as "−6.2" and "+0.5". */
export const signedText = (decibels: number): string =>
  `${decibels > 0 ? '+' : decibels < 0 ? '−' : ''}${Math.abs(decibels).toFixed(1)}`

/** Formats an offset as "−6.2 dB"; "–" if unknown. */
export const offsetText = (decibels: number | null): string =>
  decibels === null ? '–' : `${signedText(decibels)}\u00a0dB`
