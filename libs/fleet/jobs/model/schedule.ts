import { z } from 'zod'

const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'A time of day must have the form HH:MM.')

const isTimeZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** A daily window in local time. A window with `to` before `from` runs past midnight and belongs to the day it starts on. */
export const windowSchema = z
  .strictObject({
    days: z.array(z.enum(weekdays)).min(1).max(7).optional(),
    from: timeOfDay,
    to: timeOfDay,
    timeZone: z.string().max(64).refine(isTimeZone, 'Unknown time zone. Use an IANA name such as Europe/Berlin.'),
  })
  .refine(({ from, to }) => from !== to, { message: 'The window is empty: `from` and `to` must differ.', path: ['to'] })

const startAt = z.iso.datetime({ offset: true })

/** When a batch may start, and at which times of the day devices may take its jobs. */
export const scheduleSchema = z
  .strictObject({ startAt: startAt.optional(), window: windowSchema.optional() })
  .refine(({ startAt: start, window }) => start !== undefined || window !== undefined, {
    message: 'A schedule must have `startAt` or `window`.',
  })

export type Schedule = z.infer<typeof scheduleSchema>
export type Window = z.infer<typeof windowSchema>

// Bounded, because names differ in case and each format keeps the tables of its zone.
const maxFormats = 500
const localTime = new Map<string, Intl.DateTimeFormat>()

function localMoment(timeZone: string, atMs: number): { day: number; minute: number } {
  let format = localTime.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
    })
    if (localTime.size >= maxFormats) localTime.clear()
    localTime.set(timeZone, format)
  }
  const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value]))
  const day = (weekdays as readonly string[]).indexOf(parts.weekday?.toLowerCase() ?? '')
  return { day, minute: Number(parts.hour) * 60 + Number(parts.minute) }
}

const minuteOf = (time: string): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3))

/** True when the window is open at that time. */
export function isWindowOpen({ days, from, to, timeZone }: Window, atMs: number): boolean {
  const { day, minute } = localMoment(timeZone, atMs)
  const onDay = (index: number) => {
    const name = weekdays[(index + 7) % 7]
    return !days || (name !== undefined && days.includes(name))
  }
  const [opens, closes] = [minuteOf(from), minuteOf(to)]
  if (opens < closes) return onDay(day) && minute >= opens && minute < closes
  return (onDay(day) && minute >= opens) || (onDay(day - 1) && minute < closes)
}

/** Whether a batch with this schedule has started, and whether devices may take its jobs at that time. */
export function scheduleAt(schedule: Schedule | null, atMs: number): { started: boolean; open: boolean } {
  const started = schedule?.startAt === undefined || Date.parse(schedule.startAt) <= atMs
  return { started, open: started && (schedule?.window === undefined || isWindowOpen(schedule.window, atMs)) }
}
