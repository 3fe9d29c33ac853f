import type { Schedule } from '../../api/schemas.ts'
import css from './jobs.module.css'

type Day = (typeof days)[number]

const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const
const dayName: Record<Day, string> = {
  mon: 'Mon',
  tue: 'Tue',
  wed: 'Wed',
  thu: 'Thu',
  fri: 'Fri',
  sat: 'Sat',
  sun: 'Sun',
}

/** When a batch runs, as the form shows it. `startAt` is local time; '' starts at once. */
export type Timing = { startAt: string; hasWindow: boolean; days: readonly Day[]; from: string; to: string }

export const atOnce: Timing = { startAt: '', hasWindow: false, days, from: '01:00', to: '05:00' }

const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** The `schedule` of a request; nothing for a batch that starts at once. */
export function scheduleOf({ startAt, hasWindow, days: chosen, from, to }: Timing): { schedule?: Schedule } {
  if (!startAt && !hasWindow) return {}
  const onDays = chosen.length === days.length ? {} : { days: [...chosen] }
  return {
    schedule: {
      ...(startAt ? { startAt: new Date(startAt).toISOString() } : {}),
      ...(hasWindow ? { window: { ...onDays, from, to, timeZone } } : {}),
    },
  }
}

type ScheduleFieldsProps = { timing: Timing; onChange: (timing: Timing) => void }

/** Chooses when a batch starts, and at which times of the day it runs. */
export function ScheduleFields({ timing, onChange }: ScheduleFieldsProps) {
  const change = (part: Partial<Timing>) => onChange({ ...timing, ...part })
  return (
    <section class="card panel" aria-label="Time">
      <h2>Time</h2>
      <label class="field">
        <span>Start (leave empty to start at once)</span>
        <input
          class="input"
          type="datetime-local"
          data-member="schedule/startAt"
          value={timing.startAt}
          onInput={(event) => change({ startAt: event.currentTarget.value })}
        />
      </label>
      <label class="choice">
        <input
          type="checkbox"
          checked={timing.hasWindow}
          onChange={(event) => change({ hasWindow: event.currentTarget.checked })}
        />
        Only at certain hours
      </label>
      {timing.hasWindow ? (
        <>
          <div class="pair">
            <label class="field">
              <span>From</span>
              <input
                class="input"
                type="time"
                data-member="window/from"
                required
                value={timing.from}
                onInput={(event) => change({ from: event.currentTarget.value })}
              />
            </label>
            <label class="field">
              <span>To</span>
              <input
                class="input"
                type="time"
                data-member="window/to"
                data-fault={timing.from === timing.to ? 'Choose an end other than the start.' : undefined}
                required
                value={timing.to}
                onInput={(event) => change({ to: event.currentTarget.value })}
              />
            </label>
          </div>
          <fieldset
            class={`plain ${css.checks}`}
            data-member="days"
            data-fault={timing.days.length === 0 ? 'Choose at least one day.' : undefined}
          >
            <legend class="label">Days</legend>
            {days.map((day) => (
              <label key={day} class="choice">
                <input
                  type="checkbox"
                  checked={timing.days.includes(day)}
                  onChange={() =>
                    change({
                      days: days.filter((one) => (one === day) !== timing.days.includes(one)),
                    })
                  }
                />
                {dayName[day]}
              </label>
            ))}
          </fieldset>
          <p class="label">Time zone {timeZone}. Routers receive no jobs outside these hours.</p>
        </>
      ) : null}
    </section>
  )
}
