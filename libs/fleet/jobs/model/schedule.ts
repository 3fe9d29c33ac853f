import { z } from 'zod'

const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const
const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'A time of day is written HH:MM.')

const isTimeZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** A daily window in local time; `to` before `from` runs past midnight and belongs to the day it began on. */
const windowSchema = z
  .strictObject({
    days: z.array(z.enum(weekdays)).min(1).max(7).optional(),
    from: timeOfDay,
    to: timeOfDay,
    timeZone: z.string().max(64).refine(isTimeZone, 'This is not an IANA time zone.'),
  })
  .refine(({ from, to }) => from !== to, { message: 'The window is empty: from and to are the same.', path: ['to'] })

const startAt = z.iso.datetime({ offset: true })

/** When a batch may start, and at which times of the day its jobs may be handed out. */
export const scheduleSchema = z
  .strictObject({ startAt: startAt.optional(), window: windowSchema.optional() })
  .refine(({ startAt: start, window }) => start !== undefined || window !== undefined, {
    message: 'A schedule needs startAt or window.',
  })

export type Schedule = z.infer<typeof scheduleSchema>
export type Window = z.infer<typeof windowSchema>

// Names come in any case, and each format holds tables of its zone.
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

/** True when the window is open at that moment. */
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

/** Whether a batch with this schedule has started, and whether its jobs may be handed out now. */
export function scheduleAt(schedule: Schedule | null, atMs: number): { started: boolean; open: boolean } {
  const started = schedule?.startAt === undefined || Date.parse(schedule.startAt) <= atMs
  return { started, open: started && (schedule?.window === undefined || isWindowOpen(schedule.window, atMs)) }
}
