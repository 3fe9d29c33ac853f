/**
 * A level of a radio in an hour as one number: the radio, then the hour since the start of the window, then the level in hundredths of
 * a dB above `lowestDbm`. Sorting numbers takes a tenth of the time of sorting rows.
 */

export const hundredths = 100
export const lowestDbm = -200
const highestDbm = 0
export const levelBits = 15
const hourBits = 14
const levelFactor = 2 ** levelBits
export const maxHours = 2 ** hourBits
const radioFactor = levelFactor * maxHours

export const packedLevel = (radio: number, hour: number, level: number): number =>
  radio * radioFactor + hour * levelFactor + level

export const radioOf = (packed: number): number => Math.floor(packed / radioFactor)
/** The hour of a number whose radio is known. */
export const hourOf = (packed: number, radio: number): number => (packed - radio * radioFactor) >>> levelBits
/** The level of a number whose radio is known. */
export const levelOf = (packed: number, radio: number): number => (packed - radio * radioFactor) & (levelFactor - 1)
/** The smallest number of the next radio. */
export const afterRadio = (radio: number): number => (radio + 1) * radioFactor
/** The smallest number of the next hour. */
export const afterHour = (radio: number, hour: number): number => packedLevel(radio, hour + 1, 0)

/** True for a level that a modem can measure. */
export const isMeasurable = (level: number): boolean => level > 0 && level < (highestDbm - lowestDbm) * hundredths
