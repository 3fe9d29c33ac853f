const dateTime = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'short',
  hourCycle: 'h23',
})
const clockTime = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const shortDate = new Intl.DateTimeFormat(undefined, {
  day: 'numeric',
  month: 'short',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
})

/** Formats an RFC 3339 time as "3 min ago" or "in 2 h"; null as "never". */
export function ago(time: string | null, nowMs = Date.now()): string {
  if (time === null) return 'never'
  const seconds = Math.round((nowMs - Date.parse(time)) / 1_000)
  const size = Math.abs(seconds)
  if (size === 0) return 'now'
  const text =
    size < 60
      ? `${size} s`
      : size < 3_600
        ? `${Math.round(size / 60)} min`
        : size < 86_400
          ? `${Math.round(size / 3_600)} h`
          : `${Math.round(size / 86_400)} d`
  return seconds > 0 ? `${text} ago` : `in ${text}`
}

/** Formats seconds as "2 h 05 min". */
export function duration(seconds: number): string {
  const minutes = Math.floor(seconds / 60)
  if (minutes < 1) return `${Math.round(seconds)} s`
  if (minutes < 60) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, '0')} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

export const moment = (time: string | number): string => dateTime.format(new Date(time))
export const dayAndTime = (ms: number): string => shortDate.format(ms)
export const timeOfDay = (ms: number): string => clockTime.format(ms)
export const count = (value: number): string => value.toLocaleString('en')

/** Formats a number with its noun as "1 job" or "1,200 jobs". */
export const plural = (value: number, noun: string): string => `${count(value)} ${noun}${value === 1 ? '' : 's'}`

/** Formats a number with its unit; null and undefined as an en dash. */
export const measured = (value: number | null | undefined, unit: string, digits = 0): string =>
  value === null || value === undefined ? '–' : `${value.toFixed(digits).replace('-', '−')} ${unit}`

const byteUnits = ['kB', 'MB', 'GB', 'TB'] as const

/** Formats bytes as "12.3 MB"; null as an en dash. */
export function dataSize(bytes: number | null): string {
  if (bytes === null) return '–'
  const power = Math.min(byteUnits.length, Math.max(1, Math.floor(Math.log10(Math.max(bytes, 1)) / 3)))
  return `${(bytes / 1_000 ** power).toFixed(1)} ${byteUnits[power - 1]}`
}
