import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deliverableFrom, isWindowOpen, scheduleSchema, type Window } from '#fleet/jobs/model/schedule'

describe('windows', () => {
  const at = (text: string) => Date.parse(text)
  const minuteMs = 60_000

  test('a window applies in its own time zone, in summer and winter', () => {
    const window = { from: '02:00', to: '04:00', timeZone: 'Europe/Berlin' }
    expect(isWindowOpen(window, at('2026-07-01T00:30:00Z'))).toBe(true)
    expect(isWindowOpen(window, at('2026-12-01T00:30:00Z'))).toBe(false)
    expect(isWindowOpen(window, at('2026-12-01T01:00:00Z'))).toBe(true)
    expect(isWindowOpen(window, at('2026-12-01T03:00:00Z'))).toBe(false)
  })

  test('a window past midnight belongs to the day it began on', () => {
    const window = { days: ['fri' as const], from: '22:00', to: '02:00', timeZone: 'UTC' }
    expect(isWindowOpen(window, at('2026-11-20T23:00:00Z'))).toBe(true)
    expect(isWindowOpen(window, at('2026-11-21T01:59:00Z'))).toBe(true)
    expect(isWindowOpen(window, at('2026-11-21T22:30:00Z'))).toBe(false)
    expect(isWindowOpen(window, at('2026-11-20T01:00:00Z'))).toBe(false)
  })

  test('refuses an empty schedule, an unknown time zone and an empty window', () => {
    expect(scheduleSchema.safeParse({}).success).toBe(false)
    const window = { from: '01:00', to: '02:00', timeZone: 'Mars/Olympus' }
    expect(scheduleSchema.safeParse({ window }).success).toBe(false)
    expect(scheduleSchema.safeParse({ window: { from: '01:00', to: '01:00', timeZone: 'UTC' } }).success).toBe(false)
  })

  /** The first opening of a window after a time: the local times of its first and its last minute, and its length. */
  const openingAfter = (window: Window, time: string) => {
    const opensMs = deliverableFrom({ window }, at(time))
    let closesMs = opensMs
    while (isWindowOpen(window, closesMs)) closesMs += minuteMs
    const local = (ms: number) =>
      Temporal.Instant.fromEpochMilliseconds(ms)
        .toZonedDateTimeISO(window.timeZone)
        .toString({ smallestUnit: 'minute', timeZoneName: 'never' })
    return `${local(opensMs)} to ${local(closesMs - minuteMs)}, ${(closesMs - opensMs) / minuteMs} min`
  }
  const daily = (timeZone: string, from: string, to: string): Window => ({ from, to, timeZone })
  const berlin = (from: string, to: string) => daily('Europe/Berlin', from, to)

  test.each([
    [berlin('02:00', '03:00'), '2027-03-28T03:00+02:00 to 2027-03-28T03:59+02:00, 60 min'],
    [berlin('02:15', '02:45'), '2027-03-28T03:00+02:00 to 2027-03-28T03:29+02:00, 30 min'],
    [berlin('01:30', '02:30'), '2027-03-28T01:30+01:00 to 2027-03-28T01:59+01:00, 30 min'],
    [berlin('02:30', '04:00'), '2027-03-28T03:00+02:00 to 2027-03-28T03:59+02:00, 60 min'],
    [{ ...berlin('02:00', '03:00'), days: ['sun'] }, '2027-03-28T03:00+02:00 to 2027-03-28T03:59+02:00, 60 min'],
    [{ ...berlin('02:00', '03:00'), days: ['mon'] }, '2027-03-29T02:00+02:00 to 2027-03-29T02:59+02:00, 60 min'],
  ] satisfies [Window, string][])(
    '%o opens in the night whose 02:00 to 03:00 the clocks skip: %s',
    (window, expected) => {
      expect(openingAfter(window, '2027-03-27T20:00:00Z')).toBe(expected)
    },
  )

  test.each([
    // The clocks skip the first hour of Sunday.
    [
      daily('America/Santiago', '00:00', '00:30'),
      '2026-09-05T20:00:00Z',
      '2026-09-06T01:00-03:00 to 2026-09-06T01:29-03:00, 30 min',
    ],
    [
      daily('Asia/Beirut', '00:15', '00:45'),
      '2027-03-27T10:00:00Z',
      '2027-03-28T01:00+03:00 to 2027-03-28T01:29+03:00, 30 min',
    ],
    [
      daily('Asia/Beirut', '23:00', '00:30'),
      '2027-03-27T10:00:00Z',
      '2027-03-27T23:00+02:00 to 2027-03-27T23:59+02:00, 60 min',
    ],
    // They skip half an hour, from 02:00 to 02:30.
    [
      daily('Australia/Lord_Howe', '02:00', '02:30'),
      '2026-10-03T12:00:00Z',
      '2026-10-04T02:30+11:00 to 2026-10-04T02:59+11:00, 30 min',
    ],
    [
      daily('Australia/Lord_Howe', '02:00', '03:00'),
      '2026-10-03T12:00:00Z',
      '2026-10-04T02:30+11:00 to 2026-10-04T02:59+11:00, 30 min',
    ],
    // They skip a whole Friday.
    [
      { ...daily('Pacific/Apia', '02:00', '03:00'), days: ['fri'] },
      '2011-12-29T20:00:00Z',
      '2011-12-31T00:00+14:00 to 2011-12-31T00:59+14:00, 60 min',
    ],
  ] satisfies [Window, string, string][])('%o opens after %s: %s', (window, time, expected) => {
    expect(openingAfter(window, time)).toBe(expected)
  })

  test.each([
    [berlin('02:00', '03:00'), '2026-10-25T02:00+02:00 to 2026-10-25T02:59+02:00, 60 min'],
    [berlin('02:15', '02:45'), '2026-10-25T02:15+02:00 to 2026-10-25T02:44+02:00, 30 min'],
    [berlin('22:00', '03:00'), '2026-10-24T22:00+02:00 to 2026-10-25T02:59+02:00, 300 min'],
    [berlin('01:00', '05:00'), '2026-10-25T01:00+02:00 to 2026-10-25T04:59+01:00, 300 min'],
  ] satisfies [Window, string][])(
    '%o opens once in the night whose 02:00 to 03:00 the clocks repeat: %s',
    (window, expected) => {
      expect(openingAfter(window, '2026-10-24T17:00:00Z')).toBe(expected)
      const end = Temporal.Instant.from(`${expected.slice(26, 48)}`).add({ minutes: 1 })
      expect(deliverableFrom({ window }, end.epochMilliseconds)).toBeGreaterThan(at('2026-10-25T12:00:00Z'))
    },
  )

  test('a window opens once a day, for as many minutes as the clocks show, or for all of them after a skip', () => {
    const nights = [
      ['Europe/Berlin', '2027-03-28'],
      ['Europe/Berlin', '2026-10-25'],
      ['America/Santiago', '2026-09-06'],
      ['America/Santiago', '2027-04-03'],
      ['Asia/Beirut', '2027-03-28'],
      ['Asia/Beirut', '2026-10-24'],
      ['Australia/Lord_Howe', '2026-10-04'],
      ['Australia/Lord_Howe', '2027-04-04'],
      ['Asia/Kathmandu', '2026-07-01'],
    ] as const
    const stepMs = 5 * minuteMs
    const minute = fc.oneof(fc.nat(48), fc.integer({ min: 264, max: 287 })).map((steps) => steps * 5)
    fc.assert(
      fc.property(fc.constantFrom(...nights), minute, minute, ([timeZone, date], from, to) => {
        fc.pre(from !== to)
        const time = (of: number) => Temporal.PlainTime.from('00:00').add({ minutes: of }).toString().slice(0, 5)
        const day = Temporal.PlainDate.from(date)
        const name = (['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const)[day.dayOfWeek - 1] ?? 'sun'
        const window: Window = { days: [name], from: time(from), to: time(to), timeZone }
        const opens = day.toPlainDateTime(window.from)
        const closes = day.add({ days: to > from ? 0 : 1 }).toPlainDateTime(window.to)
        // Walks through time as it passes, in steps of 5 min, and notes when the clocks show each for the first time.
        const startMs = day.subtract({ days: 1 }).toZonedDateTime(timeZone).epochMilliseconds
        const shown = new Map<string, number>()
        let afterMs = 0
        const open: number[] = []
        for (let ms = startMs; ms < startMs + 4 * 1_440 * minuteMs; ms += stepMs) {
          const local = Temporal.Instant.fromEpochMilliseconds(ms).toZonedDateTimeISO(timeZone).toPlainDateTime()
          if (afterMs === 0 && Temporal.PlainDateTime.compare(local, opens) >= 0) afterMs = ms
          const isInside =
            Temporal.PlainDateTime.compare(local, opens) >= 0 && Temporal.PlainDateTime.compare(local, closes) < 0
          if (isInside && !shown.has(local.toString())) shown.set(local.toString(), ms)
          if (isWindowOpen(window, ms)) open.push(ms)
        }
        const times = [...shown.values()]
        const expectedMs =
          times.length > 0
            ? [Math.min(...times), Math.max(...times)]
            : [afterMs, afterMs + opens.until(closes).total('milliseconds') - stepMs]
        expect([open[0], open.at(-1)]).toEqual(expectedMs)
        expect(open).toHaveLength(((expectedMs[1] ?? 0) - (expectedMs[0] ?? 0)) / stepMs + 1)
      }),
      { numRuns: 60 },
    )
  })

  test('a schedule lets devices take jobs from its start, in its window', () => {
    const schedule = { startAt: '2026-07-01T00:00:00Z', window: berlin('02:00', '04:00') }
    const from = (time: string) => new Date(deliverableFrom(schedule, at(time))).toISOString()
    expect(from('2026-06-01T00:00:00Z')).toBe('2026-07-01T00:00:00.000Z')
    expect(from('2026-07-01T01:00:00Z')).toBe('2026-07-01T01:00:00.000Z')
    expect(from('2026-07-01T02:00:00Z')).toBe('2026-07-02T00:00:00.000Z')
    expect(deliverableFrom(null, 5)).toBe(5)
    // A later start of the same window changes no answer about now, nor the other way round.
    const later = { ...schedule, startAt: '2026-09-01T12:00:00Z' }
    for (const time of ['2026-07-01T01:00:00Z', '2026-07-01T01:59:00Z']) {
      expect(deliverableFrom(later, at(time))).toBe(at('2026-09-02T00:00:00Z'))
      expect(isWindowOpen(schedule.window, at(time))).toBe(true)
      expect(from(time)).toBe(new Date(at(time)).toISOString())
    }
  })
})
