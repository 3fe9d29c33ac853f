import { plural } from '../components/format.ts'

const hourMinutes = 60
const dayMinutes = 24 * hourMinutes

const defaultWindowMinutes = dayMinutes
/** The longest history of a plan. */
export const maxWindowMinutes = 90 * dayMinutes

/** Reads the time window of an address in minutes. One that the service would refuse is the default. */
export function windowMinutes(text: string | undefined): number {
  const minutes = Number(text)
  return Number.isInteger(minutes) && minutes > 0 && minutes <= maxWindowMinutes ? minutes : defaultWindowMinutes
}

/** A time window as the address has it; '' for the default. */
export const windowParam = (minutes: number): string => (minutes === defaultWindowMinutes ? '' : String(minutes))

/** Formats a time window as "6 hours", "24 hours" or "7 days". */
export function windowText(minutes: number): string {
  if (minutes >= 2 * dayMinutes && minutes % dayMinutes === 0) return plural(minutes / dayMinutes, 'day')
  return minutes % hourMinutes === 0 ? plural(minutes / hourMinutes, 'hour') : plural(minutes, 'minute')
}
