import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { theme } from '../state/theme.ts'
import { dayAndTime, timeOfDay } from './format.ts'

/** `digits`: those after the decimal point of its values; none by default. */
export type ChartSeries = { label: string; unit: string; color: string; values: (number | null)[]; digits?: number }
/** A tick above the plot, for a change of cell, operator or radio technology. */
export type ChartMark = { ts: number; label: string }

/** A time behind the lines, such as a dwell. */
export type ChartBand = { fromMs: number; toMs: number; color: string }

type ChartProps = {
  title: string
  /** Milliseconds since the epoch, ascending. */
  times: number[]
  series: ChartSeries[]
  marks?: ChartMark[]
  bands?: ChartBand[]
  height?: number
  cursorMs?: number | null
}

const minus = (value: number): string => `${value}`.replace('-', '−')

const longSpanMs = 36 * 3_600_000

const color = (name: string) =>
  getComputedStyle(document.documentElement)
    .getPropertyValue(name.replace(/^var\(|\)$/g, ''))
    .trim()

/** Draws the marks at the top of the chart, and the moment of the time slider. */
function drawMarks(plot: uPlot, marks: readonly ChartMark[], cursorMs: number | null): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.fillStyle = color('--accent')
  for (const mark of marks) {
    const x = plot.valToPos(mark.ts / 1_000, 'x', true)
    if (x >= bbox.left && x <= bbox.left + bbox.width) ctx.fillRect(x, bbox.top, devicePixelRatio, 7 * devicePixelRatio)
  }
  if (cursorMs !== null) {
    const x = plot.valToPos(cursorMs / 1_000, 'x', true)
    ctx.fillStyle = color('--text')
    ctx.fillRect(x, bbox.top, devicePixelRatio, bbox.height)
  }
  ctx.restore()
}

function drawBands(plot: uPlot, bands: readonly ChartBand[]): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.globalAlpha = 0.18
  for (const band of bands) {
    const [from, to] = [band.fromMs, band.toMs].map((ms) =>
      Math.min(Math.max(plot.valToPos(ms / 1_000, 'x', true), bbox.left), bbox.left + bbox.width),
    )
    ctx.fillStyle = color(band.color)
    if (from !== undefined && to !== undefined) ctx.fillRect(from, bbox.top, Math.max(to - from, 1), bbox.height)
  }
  ctx.restore()
}

const noMarks: ChartMark[] = []
const noBands: ChartBand[] = []

/** A line chart over time. Null values are gaps, for times without reports or without service. */
export function Chart(props: ChartProps) {
  const { title, times, series, marks = noMarks, bands = noBands, height = 120, cursorMs = null } = props
  const frame = useRef<HTMLDivElement>(null)
  const cursor = useRef(cursorMs)
  const plotted = useRef<uPlot | null>(null)
  const look = theme.value
  cursor.current = cursorMs

  useEffect(() => {
    const container = frame.current
    if (!container) return
    const grid = { stroke: color('--line'), width: 1 }
    const axis = {
      stroke: color('--text-faint'),
      grid,
      ticks: { show: false },
      font: `${color('--text-xs')} ${color('--font')}`,
    }
    const isLong = (times.at(-1) ?? 0) - (times[0] ?? 0) > longSpanMs
    const tick = (seconds: number) => (isLong ? dayAndTime(seconds * 1_000) : timeOfDay(seconds * 1_000))
    // Without a pointer, the legend shows the values at the time slider, or the newest values.
    const showDefault = (plot: uPlot) => plot.setLegend({ idx: indexAt(times, cursor.current) }, false)
    const plot = new uPlot(
      {
        width: container.clientWidth,
        height,
        padding: [8, 20, 0, 0],
        cursor: { y: false, points: { size: 6 } },
        legend: { show: true, live: true },
        scales: { x: { time: true } },
        axes: [
          { ...axis, size: 26, space: isLong ? 96 : 60, values: (_: uPlot, seconds: number[]) => seconds.map(tick) },
          { ...axis, size: 44, space: 20, values: (_: uPlot, ticks: number[]) => ticks.map(minus) },
        ],
        series: [
          { value: (_: uPlot, seconds: number | null) => (seconds === null ? '' : dayAndTime(seconds * 1_000)) },
          ...series.map((one) => ({
            label: `${one.label} (${one.unit})`,
            stroke: color(one.color),
            width: 1.5,
            points: { show: false },
            value: (_: uPlot, value: number | null) =>
              value === null ? '–' : minus(Number(value.toFixed(one.digits ?? 0))),
          })),
        ],
        hooks: {
          drawClear: [(plot) => drawBands(plot, bands)],
          draw: [(plot) => drawMarks(plot, marks, cursor.current)],
          setCursor: [(plot) => (plot.cursor.left ?? -1) < 0 && showDefault(plot)],
        },
      },
      [times.map((ms) => ms / 1_000), ...series.map((one) => one.values)] as uPlot.AlignedData,
      container,
    )
    plotted.current = plot
    showDefault(plot)
    const observer = new ResizeObserver(() => plot.setSize({ width: container.clientWidth, height }))
    observer.observe(container)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [times, series, marks, bands, height, look])

  useEffect(() => {
    plotted.current?.redraw(false)
    plotted.current?.setLegend({ idx: indexAt(times, cursorMs) })
  }, [cursorMs])

  return (
    <figure>
      <figcaption class="label">{title}</figcaption>
      <div ref={frame} role="img" aria-label={`${title}: ${summary(series)}`} />
    </figure>
  )
}

/** Returns the index of the last value at or before a time; of the newest value when the time is null. */
function indexAt(times: readonly number[], ms: number | null): number {
  const later = ms === null ? -1 : times.findIndex((time) => time > ms)
  return later === -1 ? times.length - 1 : Math.max(0, later - 1)
}

/** Describes the chart for screen readers. */
function summary(series: ChartSeries[]): string {
  return series
    .map(({ label, unit, values }) => {
      const known = values.filter((value) => value !== null)
      if (known.length === 0) return `${label}: no values`
      const low = Math.round(known.reduce((a, b) => Math.min(a, b)))
      const high = Math.round(known.reduce((a, b) => Math.max(a, b)))
      return `${label} between ${low} and ${high} ${unit}`
    })
    .join(', ')
}
