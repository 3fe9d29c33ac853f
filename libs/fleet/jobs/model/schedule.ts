import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { instantText } from '#core/schemas'

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
  .meta({ id: 'DailyWindow' })

/** When a batch may start, and at which times of the day devices may take its jobs. */
export const scheduleSchema = z
  .strictObject({ startAt: instantText().optional(), window: windowSchema.optional() })
  .refine(({ startAt: start, window }) => start !== undefined || window !== undefined, {
    message: 'A schedule must have `startAt` or `window`.',
  })
  .meta({ id: 'Schedule' })

export type Schedule = z.infer<typeof scheduleSchema>
export type Window = z.infer<typeof windowSchema>

const minuteMs = 60_000

/** One opening of a window: from `opensMs`, until before `closesMs`. */
type Opening = { opensMs: number; closesMs: number }

/**
 * The first time at which the clocks of the zone show `local`. If they skip it, that is the moment of the skip, and
 * `isSkipped`.
 */
function firstMoment(local: Temporal.PlainDateTime, timeZone: string): { atMs: number; isSkipped: boolean } {
  const zoned = local.toZonedDateTime(timeZone, { disambiguation: 'earlier' })
  if (zoned.toPlainDateTime().equals(local)) return { atMs: zoned.epochMilliseconds, isSkipped: false }
  return { atMs: zoned.getTimeZoneTransition('next')?.epochMilliseconds ?? zoned.epochMilliseconds, isSkipped: true }
}

/**
 * The opening of a window that belongs to a day. It lasts from the first time that the clocks show its first minute until
 * the first time that they have shown its last one, so an hour that the clocks repeat counts once. A window whose minutes
 * the clocks skip all opens at the next minute, for its usual length.
 */
function openingOn(day: Temporal.PlainDate, { from, to, timeZone }: Window): Opening {
  const [first, end] = [day.toPlainDateTime(from), day.add({ days: to > from ? 0 : 1 }).toPlainDateTime(to)]
  const opens = firstMoment(first, timeZone)
  const last = firstMoment(end.subtract({ minutes: 1 }), timeZone)
  const closesMs = last.isSkipped ? last.atMs : last.atMs + minuteMs
  const lengthMs = first.until(end).total('milliseconds')
  return { opensMs: opens.atMs, closesMs: closesMs > opens.atMs ? closesMs : opens.atMs + lengthMs }
}

// Every waiting batch asks once a second. Bounded, because organizations choose any windows.
const remembered = new LRUCache<string, Opening & { sinceMs: number }>({ max: 1_000 })

/** The present opening of a window, or else its next one. `asked`: what is asked again and again, of a time that moves on. */
function openingAt(window: Window, atMs: number, asked: Schedule = { window }): Opening {
  const key = JSON.stringify(asked)
  const known = remembered.get(key)
  if (known && atMs >= known.sinceMs && atMs < known.closesMs) return known
  const today = Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(window.timeZone).toPlainDate()
  const isChosen = (day: Temporal.PlainDate) => window.days?.includes(weekdays[day.dayOfWeek % 7] ?? 'sun') ?? true
  const opening = Array.from({ length: 10 }, (_, index) => today.add({ days: index - 1 }))
    .values()
    .filter(isChosen)
    .map((day) => openingOn(day, window))
    .find(({ closesMs }) => closesMs > atMs)
  if (!opening) throw new Error('A window opens at least once a week.')
  remembered.set(key, { ...opening, sinceMs: atMs })
  return opening
}

/** True when the window is open at that time. */
export const isWindowOpen = (window: Window, atMs: number): boolean => openingAt(window, atMs).opensMs <= atMs

/** The first time from `atMs` on at which the schedule lets devices take jobs. */
export function deliverableFrom(schedule: Schedule | null, atMs: number): number {
  const startMs = schedule?.startAt === undefined ? atMs : Math.max(atMs, Date.parse(schedule.startAt))
  if (schedule?.window === undefined) return startMs
  const { window } = schedule
  return Math.max(startMs, openingAt(window, startMs, startMs > atMs ? schedule : { window }).opensMs)
}

/** Whether a batch with this schedule has started, and whether devices may take its jobs at that time. */
export function scheduleAt(schedule: Schedule | null, atMs: number): { started: boolean; open: boolean } {
  const started = schedule?.startAt === undefined || Date.parse(schedule.startAt) <= atMs
  return { started, open: deliverableFrom(schedule, atMs) <= atMs }
}
