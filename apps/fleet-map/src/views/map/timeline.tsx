import { useEffect, useState } from 'preact/hooks'
import { moment } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { setParams, takeParam } from '../../state/url.ts'
import css from './map.module.css'

type TimelineProps = {
  fromMs: number
  toMs: number
  atMs: number | null
  /** Starts to play. */
  plays: boolean
  name: string
  limitedBy: string | null
  /** The range ends in the past, so that its end does not mean now. */
  isPast: boolean
}

const stepsPerRun = 200
const speeds = [0.5, 1, 2, 4]
const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** The time slider of the selected device's trail, charts and position. Its right end means now. */
export function Timeline({ fromMs, toMs, atMs, plays, name, limitedBy, isPast }: TimelineProps) {
  const [playing, setPlaying] = useState(false)
  const [speed, setSpeed] = useState(1)
  const value = Math.min(toMs, Math.max(fromMs, atMs ?? toMs))
  const show = (ms: number) =>
    setParams({ t: ms >= toMs ? null : new Date(Math.round(ms)).toISOString() }, { replace: true })

  useEffect(() => {
    if (plays && takeParam('play')) setPlaying(true)
  }, [plays])

  useEffect(() => {
    if (!playing) return
    const timer = setTimeout(() => {
      const next = value + ((toMs - fromMs) / stepsPerRun) * speed
      show(next)
      if (next >= toMs) setPlaying(false)
    }, 60)
    return () => clearTimeout(timer)
  }, [playing, value, speed])

  return (
    <section class={`${css.timeline} floating`} aria-label="Time">
      <div class={css.row}>
        <button
          type="button"
          class="button quiet icon"
          aria-label={playing ? 'Pause' : 'Play trail'}
          onClick={() => {
            if (!playing && value >= toMs) show(fromMs)
            setPlaying(!playing)
          }}
        >
          <Icon name={playing ? 'pause' : 'play'} size={16} />
        </button>
        <span class={css.name}>{name}</span>
        <output title={timeZone}>{atMs === null && !isPast ? 'Now' : moment(value)}</output>
        {atMs === null ? null : (
          <button type="button" class="button quiet small" onClick={() => setParams({ t: null })}>
            {isPast ? 'Back to the end' : 'Back to now'}
          </button>
        )}
        <select
          class={`input ${css.speed}`}
          aria-label="Speed"
          value={speed}
          onChange={(event) => setSpeed(Number(event.currentTarget.value))}
        >
          {speeds.map((one) => (
            <option key={one} value={one}>
              {one} ×
            </option>
          ))}
        </select>
      </div>
      <input
        type="range"
        aria-label={`Time on the trail of ${name}`}
        aria-valuetext={moment(value)}
        min={fromMs}
        max={toMs}
        step={1_000}
        value={value}
        onInput={(event) => show(Number(event.currentTarget.value))}
      />
      <div class={`${css.row} ${css.ends}`}>
        <span style={{ marginRight: 'auto' }}>{moment(fromMs)}</span>
        {limitedBy === 'plan' ? <span>History is limited by your plan</span> : null}
        <span>
          {moment(toMs)} {timeZone}
        </span>
      </div>
    </section>
  )
}
