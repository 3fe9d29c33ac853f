import { useState } from 'preact/hooks'
import { FieldFault, faultProps } from '../../components/field-fault.tsx'
import { place, setParams } from '../../state/url.ts'
import css from './map.module.css'

const windows: { minutes: number; label: string }[] = [
  { minutes: 60, label: 'Last hour' },
  { minutes: 360, label: 'Last 6 hours' },
  { minutes: 1_440, label: 'Last 24 hours' },
  { minutes: 10_080, label: 'Last 7 days' },
  { minutes: 43_200, label: 'Last 30 days' },
]

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
  const { window = '', from, to } = place.value.params
  const [isCustom, setIsCustom] = useState(Boolean(from))
  const [yesterday, today] = [startOfDay(1).toISOString(), startOfDay(0).toISOString()]
  const value = from === yesterday && to === today ? 'yesterday' : from || isCustom ? 'custom' : window
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
          {windows.map(({ minutes, label }) => (
            <option key={minutes} value={minutes === 1_440 ? '' : String(minutes)}>
              {label}
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
