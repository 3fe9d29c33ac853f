import { useEffect, useState } from 'preact/hooks'
import { CompleteFrom } from '../../components/complete-from.tsx'
import { moment } from '../../components/format.ts'
import { Icon, type IconName } from '../../components/icon.tsx'
import { setParams, takeParam } from '../../state/url.ts'
import css from './map.module.css'

type TimelineProps = {
  fromMs: number
  toMs: number
  atMs: number | null
  /** Starts to play. */
  plays: boolean
  /** The map keeps the device in view. */
  follows: boolean
  name: string
  limitedBy: string | null
  /** From when on the history is shown, if it is too long to be shown as a whole. */
  completeFromMs: number | null
  /** The range ends in the past, so that its end does not mean now. */
  isPast: boolean
}

const stepsPerRun = 200
const speeds = [0.5, 1, 2, 4]
const timeZone = Intl.DateTimeFormat().resolvedOptions().timeZone

/** The time slider of the selected device's trail, charts and position. Its right end means now. */
export function Timeline(props: TimelineProps) {
  const { fromMs, toMs, atMs, plays, follows, name, limitedBy, completeFromMs, isPast } = props
  const [playing, setPlaying] = useState(false)
  const [speed, setSpeed] = useState(1)
  const value = Math.min(toMs, Math.max(fromMs, atMs ?? toMs))
  const show = (ms: number) =>
    setParams({ t: ms >= toMs ? null : new Date(Math.round(ms)).toISOString() }, { replace: true })
  const follow = (isOn: boolean) => setParams({ follow: isOn ? '1' : null }, { replace: true })
  const play = () => {
    follow(true)
    setPlaying(true)
  }

  useEffect(() => {
    if (plays && takeParam('play')) play()
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
        <IconButton
          icon={playing ? 'pause' : 'play'}
          label={playing ? 'Pause' : 'Play trail'}
          onClick={() => {
            if (playing) return setPlaying(false)
            if (value >= toMs) show(fromMs)
            play()
          }}
        />
        <span class={css.name}>{name}</span>
        <output title={timeZone}>{atMs === null && !isPast ? 'Now' : moment(value)}</output>
        {atMs === null ? null : (
          <IconButton
            icon="end"
            label={isPast ? 'Back to the end' : 'Back to now'}
            onClick={() => setParams({ t: null })}
          />
        )}
        <IconButton icon="follow" label="Follow" isPressed={follows} onClick={() => follow(!follows)} />
        <Speed speed={speed} onChoose={setSpeed} />
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
      <CompleteFrom ms={completeFromMs} />
    </section>
  )
}

type IconButtonProps = { icon: IconName; label: string; isPressed?: boolean; onClick: () => void }

const IconButton = ({ icon, label, isPressed, onClick }: IconButtonProps) => (
  <button
    type="button"
    class="button quiet icon"
    aria-label={label}
    {...(isPressed === undefined ? {} : { 'aria-pressed': isPressed })}
    title={label}
    onClick={onClick}
  >
    <Icon name={icon} size={16} />
  </button>
)

const Speed = ({ speed, onChoose }: { speed: number; onChoose: (speed: number) => void }) => (
  <select
    class={`input ${css.speed}`}
    aria-label="Speed"
    value={speed}
    onChange={(event) => onChoose(Number(event.currentTarget.value))}
  >
    {speeds.map((one) => (
      <option key={one} value={one}>
        {one} ×
      </option>
    ))}
  </select>
)
