import type { SimAdvice } from '../api/schemas.ts'

/** Formats minutes of a day as "12 min a day", or "0.4 min a day" below ten. */
export const minutesText = (minutes: number): string => `${minutes.toFixed(minutes < 10 ? 1 : 0)}\u00a0min a day`

/** Less than this is not worth a SIM. */
const worthMinutesPerDay = 1

/** Whether another operator would serve the SIM better by at least a minute a day. */
export const isWorthChanging = ({ gainMinutesPerDay }: SimAdvice): boolean =>
  (gainMinutesPerDay ?? 0) >= worthMinutesPerDay
