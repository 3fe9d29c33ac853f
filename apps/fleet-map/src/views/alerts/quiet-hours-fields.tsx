import { useState } from 'preact/hooks'
import type { QuietHours } from '../../api/schemas.ts'
import css from './alerts.module.css'
import { weekdays } from './rule-form.ts'

const dayLabels = { mon: 'Mon', tue: 'Tue', wed: 'Wed', thu: 'Thu', fri: 'Fri', sat: 'Sat', sun: 'Sun' }

const timeZones = Intl.supportedValuesOf('timeZone')
const here = Intl.DateTimeFormat().resolvedOptions().timeZone

/** The hours in which e-mail waits. */
export function QuietHoursFields({ quietHours }: { quietHours: QuietHours | null }) {
  const [isOn, setOn] = useState(quietHours !== null)
  const time = (name: string, member: string, label: string, value: string) => (
    <label class="field">
      <span>{label}</span>
      <input class="input" type="time" name={name} data-member={member} required defaultValue={value} />
    </label>
  )
  return (
    <>
      <label class="choice">
        <input type="checkbox" name="quiet" checked={isOn} onChange={(event) => setOn(event.currentTarget.checked)} />
        <span>
          Quiet hours
          <span class="hint"> in which e-mail waits. The inbox and webhooks do not.</span>
        </span>
      </label>
      {isOn ? (
        <>
          <div class="triple">
            {time('quietFrom', 'quietHours/from', 'From', quietHours?.from ?? '22:00')}
            {time('quietTo', 'quietHours/to', 'To', quietHours?.to ?? '06:00')}
            <label class="field">
              <span>Time zone</span>
              <input
                class="input"
                name="timeZone"
                required
                list="time-zones"
                defaultValue={quietHours?.timeZone ?? here}
              />
              <datalist id="time-zones">
                {timeZones.map((zone) => (
                  <option key={zone} value={zone} />
                ))}
              </datalist>
            </label>
          </div>
          <fieldset class={`plain ${css.days}`} data-member="quietHours/days">
            <legend class="label">Days on which they begin</legend>
            {weekdays.map((day) => (
              <label key={day} class="choice">
                <input
                  type="checkbox"
                  name="days"
                  value={day}
                  defaultChecked={quietHours?.days?.includes(day) ?? true}
                />
                <span>{dayLabels[day]}</span>
              </label>
            ))}
          </fieldset>
        </>
      ) : null}
    </>
  )
}
