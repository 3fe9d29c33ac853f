import { useState } from 'preact/hooks'
import { type Option, withChosen } from '../../components/chosen-option.ts'
import { FieldFault, faultProps } from '../../components/field-fault.tsx'
import { windowMinutes, windowParam, windowText } from '../../state/time-window.ts'
import { place, setParams } from '../../state/url.ts'
import css from './map.module.css'

const lastText = (minutes: number): string => `Last ${minutes === 60 ? 'hour' : windowText(minutes)}`

const windows = [60, 360, 1_440, 10_080, 43_200, 129_600].map(
  (minutes): Option => [windowParam(minutes), lastText(minutes)],
)

/** The start of a day in local time; 0 is today. */
function startOfDay(daysAgo: number): Date {
  const now = new Date()
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysAgo)
}

/** A time as an input of the type `datetime-local` has it. */
const localText = (iso: string | undefined): string => {
  const date = new Date(iso ?? '')
  if (Number.isNaN(date.getTime())) return ''
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

const isoOf = (text: string): string => new Date(text).toISOString()

/** Chooses the time range of the map: until now, yesterday, or between two times. */
export function TimeRangeFields() {
  const { window, from, to } = place.value.params
  const minutes = windowMinutes(window)
  const last = windowParam(minutes)
  const [isCustom, setIsCustom] = useState(Boolean(from))
  const [yesterday, today] = [startOfDay(1).toISOString(), startOfDay(0).toISOString()]
  const value = from === yesterday && to === today ? 'yesterday' : from || isCustom ? 'custom' : last
  const choose = (choice: string) => {
    setIsCustom(choice === 'custom')
    if (choice === 'yesterday') setParams({ window: null, from: yesterday, to: today, t: null })
    else if (choice === 'custom')
      setParams({ window: null, from: from ?? yesterday, to: to ?? new Date().toISOString(), t: null })
    else setParams({ window: choice || null, from: null, to: null, t: null })
  }
  return (
    <>
      <label class="field">
        <span>Time range</span>
        <select class="input" value={value} onChange={(event) => choose(event.currentTarget.value)}>
          {withChosen(windows, last, () => lastText(minutes)).map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
          <option value="yesterday">Yesterday</option>
          <option value="custom">Between two times</option>
        </select>
      </label>
      {value === 'custom' ? <CustomRange from={localText(from)} to={localText(to)} /> : null}
    </>
  )
}

type Range = { from: string; to: string }

const isInOrder = ({ from, to }: Range): boolean => from !== '' && to !== '' && from < to

/** Two local times. They apply as soon as both are there and in order. */
function CustomRange(applied: Range) {
  const [typed, setTyped] = useState<Range | null>(null)
  const { from, to } = typed ?? applied
  const fault = {
    id: 'time-range-fault',
    text: from !== '' && to !== '' && from >= to ? 'The end must be after the start.' : undefined,
  }
  const type = (next: Range) => {
    setTyped(isInOrder(next) ? null : next)
    if (isInOrder(next)) setParams({ from: isoOf(next.from), to: isoOf(next.to), t: null })
  }
  return (
    <div class={css.timeRange}>
      <label class="field">
        <span>From</span>
        <input
          class="input"
          type="datetime-local"
          value={from}
          onChange={(event) => type({ from: event.currentTarget.value, to })}
        />
      </label>
      <div class="field">
        <label class="label" for="time-range-end">
          To
        </label>
        <input
          id="time-range-end"
          class="input"
          type="datetime-local"
          value={to}
          {...faultProps(fault)}
          onChange={(event) => type({ from, to: event.currentTarget.value })}
        />
        <FieldFault {...fault} />
      </div>
    </div>
  )
}
