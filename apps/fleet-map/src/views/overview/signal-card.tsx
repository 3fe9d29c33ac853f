import { useMemo } from 'preact/hooks'
import type { SignalTrend } from '../../api/schemas.ts'
import { Chart } from '../../components/chart.tsx'
import { count, dayAndTime, measured } from '../../components/format.ts'
import type { Resource } from '../../components/resource.ts'
import { Empty } from '../../components/states.tsx'
import { Card } from './card.tsx'
import css from './overview.module.css'
import { QualityKey, sharesText } from './quality-bar.tsx'
import { addUp, percent, shares } from './signal-shares.ts'

const rsrpHeightPx = 130
const mostLabels = 6

/** The signal of the time range: its classes and its RSRP, step by step. */
export const SignalCard = ({ trend }: { trend: Resource<SignalTrend> }) => (
  <Card
    title="Signal"
    area="signal"
    source={trend}
    note={trend.value?.window.limitedBy ? 'The time range is limited by the plan' : undefined}
  >
    {(value) =>
      value.steps.length === 0 ? (
        <Empty title="No measurements">
          <p>Nothing was measured at a known position in this time range.</p>
        </Empty>
      ) : (
        <Signal trend={value} />
      )
    }
  </Card>
)

type Step = SignalTrend['steps'][number]

function Signal({ trend }: { trend: SignalTrend }) {
  const columns = useMemo(() => columnsOf(trend), [trend])
  const { samples, served, byQuality } = addUp(trend.steps)
  const [excellent, good] = shares(byQuality)
  const times = useMemo(() => columns.map(({ fromMs }) => fromMs), [columns])
  const series = useMemo(
    () => [
      { label: 'Median', unit: 'dBm', color: '--accent', values: columns.map(({ step }) => step?.rsrpDbm.p50 ?? null) },
      {
        label: 'Weakest tenth below',
        unit: 'dBm',
        color: '--warn',
        values: columns.map(({ step }) => step?.rsrpDbm.p10 ?? null),
      },
    ],
    [columns],
  )
  return (
    <>
      <div class={css.figures}>
        <p class={css.figure}>
          <strong>{percent(served / Math.max(1, samples))}</strong>
          <span class="label">of the time with service</span>
        </p>
        <p class={css.figure}>
          <strong>{percent((excellent?.share ?? 0) + (good?.share ?? 0))}</strong>
          <span class="label">good or excellent</span>
        </p>
        <p class={css.figure}>
          <strong>{count(Math.round(samples / 60))} h</strong>
          <span class="label">measured by all devices</span>
        </p>
      </div>
      <QualityKey />
      <Columns columns={columns} stepS={trend.stepS} />
      <Chart title="RSRP" times={times} series={series} height={rsrpHeightPx} />
      <details>
        <summary class="label">Show as a table</summary>
        <StepTable steps={trend.steps} />
      </details>
    </>
  )
}

type StepColumn = { fromMs: number; step: Step | undefined }

/** All steps of the window, also those without measurements. */
function columnsOf({ window, stepS, steps }: SignalTrend): StepColumn[] {
  const stepMs = stepS * 1_000
  const byTime = new Map(steps.map((step) => [Date.parse(step.from), step]))
  const firstMs = Math.floor(Date.parse(window.from) / stepMs) * stepMs
  const columns: StepColumn[] = []
  for (let fromMs = firstMs; fromMs <= Date.now(); fromMs += stepMs) columns.push({ fromMs, step: byTime.get(fromMs) })
  return columns
}

/** The shares of the signal classes in each step, best at the bottom. */
function Columns({ columns, stepS }: { columns: StepColumn[]; stepS: number }) {
  const every = Math.ceil(columns.length / mostLabels)
  return (
    <figure class={css.columns}>
      <figcaption class="label">Signal classes by RSRP, share of the measurements</figcaption>
      <div class={css.frame}>
        <div class={css.scale} aria-hidden="true">
          <span>100 %</span>
          <span>50 %</span>
          <span>0 %</span>
        </div>
        <div class={css.plot} role="img" aria-label={columnsText(columns)}>
          {columns.map(({ fromMs, step }) => (
            <div
              key={fromMs}
              class={css.column}
              title={`${dayAndTime(fromMs)}: ${step ? stepText(step) : 'no measurements'}`}
            >
              {step
                ? shares(step.byQuality).map(({ quality, share }) => (
                    <span
                      key={quality}
                      style={{ height: `${share * 100}%`, background: `var(--quality-${quality})` }}
                    />
                  ))
                : null}
            </div>
          ))}
        </div>
        <div class={css.ticks} aria-hidden="true">
          {columns
            .filter((_, index) => index % every === 0)
            .map(({ fromMs }, index) => (
              <span key={fromMs} style={{ left: `${((index * every) / columns.length) * 100}%` }}>
                {tickText(fromMs, stepS)}
              </span>
            ))}
        </div>
      </div>
    </figure>
  )
}

const daySeconds = 86_400
const dayOnly = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })
const hourOnly = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })

const tickText = (ms: number, stepS: number): string => (stepS * 24 > daySeconds ? dayOnly : hourOnly).format(ms)

const stepText = ({ byQuality, serviceRatio, rsrpDbm }: Step): string =>
  `${sharesText(byQuality)}; service ${percent(serviceRatio)}; median ${measured(rsrpDbm.p50, 'dBm')}`

function columnsText(columns: readonly StepColumn[]): string {
  const known = columns.flatMap(({ step }) => step ?? [])
  const [first, last] = [known[0], known.at(-1)]
  if (!first || !last) return 'Signal classes: no measurements'
  return `Signal classes. First: ${stepText(first)}. Last: ${stepText(last)}.`
}

const StepTable = ({ steps }: { steps: readonly Step[] }) => (
  <div class={`table-frame ${css.stepTable}`}>
    <table class="table">
      <caption class="visually-hidden">Signal by time</caption>
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col" class="number">
            Service
          </th>
          <th scope="col" class="number">
            Median RSRP
          </th>
          <th scope="col" class="number">
            Poor or none
          </th>
        </tr>
      </thead>
      <tbody>
        {steps.toReversed().map((step) => {
          const [, , , poor, none] = shares(step.byQuality)
          return (
            <tr key={step.from}>
              <td>{dayAndTime(Date.parse(step.from))}</td>
              <td class="number">{percent(step.serviceRatio)}</td>
              <td class="number">{measured(step.rsrpDbm.p50, 'dBm')}</td>
              <td class="number">{percent((poor?.share ?? 0) + (none?.share ?? 0))}</td>
            </tr>
          )
        })}
      </tbody>
    </table>
  </div>
)
