import type { Rollout } from '../../api/schemas.ts'
import { count } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import css from './jobs.module.css'

type StageField = { size: string; unit: 'devices' | 'percent' }

/** How a batch proceeds, as the form shows it. Numbers are text, and '' means without a limit. */
export type Pace = {
  inStages: boolean
  stages: StageField[]
  waitMinutes: string
  confirms: boolean
  onFailures: 'pause' | 'cancel' | 'continue'
  failedPct: string
  maxPerMinute: string
}

export const allAtOnce: Pace = {
  inStages: false,
  stages: [
    { size: '1', unit: 'devices' },
    { size: '10', unit: 'percent' },
  ],
  waitMinutes: '',
  confirms: false,
  onFailures: 'pause',
  failedPct: '10',
  maxPerMinute: '',
}

const sizeOf = ({ size, unit }: StageField): NonNullable<Rollout['stages']>[number] =>
  unit === 'devices' ? { devices: Number(size) } : { percent: Number(size) }

/** The `rollout` of a request; nothing for a batch without limits. */
export function rolloutOf(pace: Pace, total: number): { rollout?: Rollout } {
  const limit: Rollout = pace.maxPerMinute ? { maxPerMinute: Number(pace.maxPerMinute) } : {}
  if (!pace.inStages || total < 2) return pace.maxPerMinute ? { rollout: limit } : {}
  const failedPct = Number(pace.failedPct)
  return {
    rollout: {
      ...limit,
      stages: pace.stages.map(sizeOf),
      ...(pace.waitMinutes ? { stageWaitMinutes: Number(pace.waitMinutes) } : {}),
      ...(pace.confirms ? { confirmStages: true } : {}),
      ...(pace.onFailures === 'pause' ? { pauseWhenFailedPct: failedPct } : {}),
      ...(pace.onFailures === 'cancel' ? { abortWhenFailedPct: failedPct } : {}),
    },
  }
}

/** The number of devices in each stage, as the service divides them. */
function stageSizes(pace: Pace, total: number): number[] {
  let left = total
  const sizes = pace.stages.map(({ size, unit }) => {
    const wanted = unit === 'devices' ? Number(size) : Math.ceil((Number(size) * total) / 100)
    const devices = Math.min(left, wanted)
    left -= devices
    return devices
  })
  return [...sizes, left].filter((devices) => devices > 0)
}

type RolloutFieldsProps = { pace: Pace; total: number; onChange: (pace: Pace) => void }

/** Chooses the stages of a batch, and what happens when jobs fail. */
export function RolloutFields({ pace, total, onChange }: RolloutFieldsProps) {
  const change = (part: Partial<Pace>) => onChange({ ...pace, ...part })
  return (
    <section class="card panel" aria-label="Rollout">
      <h2>Rollout</h2>
      <div class="segmented">
        <button type="button" aria-pressed={!pace.inStages} onClick={() => change({ inStages: false })}>
          All at once
        </button>
        <button type="button" aria-pressed={pace.inStages} onClick={() => change({ inStages: true })}>
          In stages
        </button>
      </div>
      {pace.inStages ? (
        <>
          <StageFields pace={pace} change={change} />
          {total > 0 ? (
            <p class="label" aria-live="polite">
              {stageSizes(pace, total)
                .map((devices, index) => `Stage ${index + 1}: ${count(devices)}`)
                .join(' · ')}
            </p>
          ) : null}
          <FailureFields pace={pace} change={change} />
          <NumberField
            label="Wait between stages, in minutes"
            member="stageWaitMinutes"
            max={10_080}
            placeholder="No wait"
            value={pace.waitMinutes}
            onInput={(waitMinutes) => change({ waitMinutes })}
          />
          <label class="choice">
            <input
              type="checkbox"
              checked={pace.confirms}
              onChange={(event) => change({ confirms: event.currentTarget.checked })}
            />
            Wait for my confirmation after each stage
          </label>
        </>
      ) : null}
      <NumberField
        label="Devices per minute"
        member="maxPerMinute"
        max={100_000}
        placeholder="No limit"
        value={pace.maxPerMinute}
        onInput={(maxPerMinute) => change({ maxPerMinute })}
      />
    </section>
  )
}

type PaceProps = { pace: Pace; change: (part: Partial<Pace>) => void }

function StageFields({ pace, change }: PaceProps) {
  const changeStage = (index: number, part: Partial<StageField>) =>
    change({ stages: pace.stages.map((stage, at) => (at === index ? { ...stage, ...part } : stage)) })
  return (
    <>
      <ol class={css.stageFields}>
        {pace.stages.map((stage, index) => (
          <li key={index}>
            <span class="label">Stage {index + 1}</span>
            <input
              class="input"
              type="number"
              required
              min={1}
              max={stage.unit === 'percent' ? 99 : 100_000}
              data-member={`rollout/stages/${index}`}
              aria-label={`Size of stage ${index + 1}`}
              value={stage.size}
              onInput={(event) => changeStage(index, { size: event.currentTarget.value })}
            />
            <select
              class="input"
              aria-label={`Unit of stage ${index + 1}`}
              value={stage.unit}
              onChange={(event) => changeStage(index, { unit: event.currentTarget.value as StageField['unit'] })}
            >
              <option value="devices">devices</option>
              <option value="percent">% of the devices</option>
            </select>
            <button
              type="button"
              class="button quiet icon"
              aria-label={`Remove stage ${index + 1}`}
              disabled={pace.stages.length === 1}
              onClick={() => change({ stages: pace.stages.filter((_, at) => at !== index) })}
            >
              <Icon name="close" size={16} />
            </button>
          </li>
        ))}
        <li>
          <span class="label">Then</span>
          <span>all other devices</span>
        </li>
      </ol>
      <button
        type="button"
        class="button small"
        disabled={pace.stages.length >= 10}
        onClick={() => change({ stages: [...pace.stages, { size: '25', unit: 'percent' }] })}
      >
        Add stage
      </button>
    </>
  )
}

/** Chooses what happens when jobs fail. */
const FailureFields = ({ pace, change }: PaceProps) => (
  <div class="pair">
    <label class="field">
      <span>When jobs fail</span>
      <select
        class="input"
        value={pace.onFailures}
        onChange={(event) => change({ onFailures: event.currentTarget.value as Pace['onFailures'] })}
      >
        <option value="pause">Pause the batch</option>
        <option value="cancel">Cancel the rest</option>
        <option value="continue">Continue</option>
      </select>
    </label>
    {pace.onFailures === 'continue' ? null : (
      <NumberField
        label="Limit (% of the devices so far)"
        member={pace.onFailures === 'pause' ? 'pauseWhenFailedPct' : 'abortWhenFailedPct'}
        required
        max={100}
        value={pace.failedPct}
        onInput={(failedPct) => change({ failedPct })}
      />
    )}
  </div>
)

type NumberFieldProps = {
  label: string
  /** The member of the request. */
  member: string
  max: number
  value: string
  placeholder?: string
  required?: boolean
  onInput: (value: string) => void
}

const NumberField = ({ label, member, onInput, ...input }: NumberFieldProps) => (
  <label class="field">
    <span>{label}</span>
    <input
      class="input"
      type="number"
      min={1}
      data-member={member}
      {...input}
      onInput={(event) => onInput(event.currentTarget.value)}
    />
  </label>
)
