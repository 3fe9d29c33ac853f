import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { ForecastSegment } from '../../api/schemas.ts'
import { theme } from '../../state/theme.ts'

const heightPx = 150

const color = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

type RouteProfileProps = {
  segments: readonly ForecastSegment[]
  /** The lines of the route if it has several. */
  stretches: readonly { fromM: number }[] | undefined
  lengthM: number
  deadZones: readonly { fromM: number; toM: number }[]
}

/** Charts RSRP along the route: the median as a line, p10 to p90 as a band, and gaps where nothing was measured. */
export function RouteProfile({ segments, stretches, lengthM, deadZones }: RouteProfileProps) {
  const frame = useRef<HTMLDivElement>(null)
  const look = theme.value
  useEffect(() => {
    const container = frame.current
    if (!container) return
    const grid = { stroke: color('--line'), width: 1 }
    const axis = { stroke: color('--text-faint'), grid, ticks: { show: false }, font: '11px system-ui' }
    const accent = color('--accent')
    const value = (_: uPlot, dbm: number | null) => (dbm === null ? '–' : `${dbm}`.replace('-', '−'))
    const edge = { stroke: 'transparent', points: { show: false }, value }
    // Without a pointer, the legend shows the first measured segment.
    const firstKnown = 2 * segments.findIndex(({ rsrpDbm }) => rsrpDbm !== null)
    const showDefault = (plot: uPlot) => plot.setLegend({ idx: Math.max(0, firstKnown) }, false)
    const plot = new uPlot(
      {
        width: container.clientWidth,
        height: heightPx,
        padding: [8, 20, 0, 0],
        cursor: { y: false, points: { show: false } },
        scales: { x: { time: false, range: [0, lengthM / 1_000] } },
        axes: [
          { ...axis, size: 26, space: 48, values: (_: uPlot, km: number[]) => km.map((one) => `${one} km`) },
          {
            ...axis,
            size: 44,
            space: 24,
            values: (_: uPlot, dbm: number[]) => dbm.map((one) => `${one}`.replace('-', '−')),
          },
        ],
        series: [
          { label: 'Distance', value: (_: uPlot, km: number | null) => (km === null ? '' : `${km.toFixed(1)} km`) },
          { ...edge, label: 'p90' },
          { label: 'RSRP (dBm)', stroke: accent, width: 1.8, points: { show: false }, value },
          { ...edge, label: 'p10' },
        ],
        bands: [{ series: [1, 3], fill: `${accent}55` }],
        hooks: {
          drawClear: [(plot) => shadeDead(plot, deadZones), (plot) => separate(plot, stretches ?? [])],
          setCursor: [(plot) => (plot.cursor.left ?? -1) < 0 && showDefault(plot)],
        },
      },
      profileOf(segments) as uPlot.AlignedData,
      container,
    )
    showDefault(plot)
    const observer = new ResizeObserver(() => plot.setSize({ width: container.clientWidth, height: heightPx }))
    observer.observe(container)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [segments, stretches, lengthM, deadZones, look])
  return (
    <figure>
      <figcaption class="label">RSRP along the route (median, p10–p90)</figcaption>
      <div ref={frame} role="img" aria-label={summaryOf(segments)} />
    </figure>
  )
}

/** Hatches the dead zones behind the curve. */
function shadeDead(plot: uPlot, deadZones: RouteProfileProps['deadZones']): void {
  const { ctx, bbox } = plot
  const spacingPx = 6 * devicePixelRatio
  ctx.save()
  ctx.strokeStyle = color('--quality-none')
  ctx.lineWidth = devicePixelRatio
  for (const { fromM, toM } of deadZones) {
    const [left, right] = [plot.valToPos(fromM / 1_000, 'x', true), plot.valToPos(toM / 1_000, 'x', true)]
    ctx.save()
    ctx.beginPath()
    ctx.rect(left, bbox.top, Math.max(devicePixelRatio, right - left), bbox.height)
    ctx.clip()
    ctx.globalAlpha = 0.16
    ctx.fillStyle = color('--quality-none')
    ctx.fill()
    ctx.globalAlpha = 0.5
    ctx.beginPath()
    for (let x = left - bbox.height; x < right; x += spacingPx) {
      ctx.moveTo(x, bbox.top + bbox.height)
      ctx.lineTo(x + bbox.height, bbox.top)
    }
    ctx.stroke()
    ctx.restore()
  }
  ctx.restore()
}

/** Draws a line at the start of each stretch but the first: the route has a gap there. */
function separate({ ctx, bbox, valToPos }: uPlot, stretches: readonly { fromM: number }[]): void {
  ctx.fillStyle = color('--text-faint')
  for (const { fromM } of stretches.slice(1)) {
    ctx.fillRect(Math.round(valToPos(fromM / 1_000, 'x', true)), bbox.top, devicePixelRatio, bbox.height)
  }
}

/** Returns columns of kilometres, p90, median and p10, with two points per segment so that the line has steps. */
function profileOf(segments: readonly ForecastSegment[]): (number | null)[][] {
  const columns: (number | null)[][] = [[], [], [], []]
  const push = (metres: number, { rsrpDbm }: ForecastSegment) => {
    const row = [metres / 1_000, rsrpDbm?.p90 ?? null, rsrpDbm?.p50 ?? null, rsrpDbm?.p10 ?? null]
    row.forEach((cell, index) => {
      columns[index]?.push(cell)
    })
  }
  for (const segment of segments) {
    push(segment.fromM, segment)
    push(segment.toM - 0.01, segment)
  }
  return columns
}

/** Describes the chart for screen readers. */
function summaryOf(segments: readonly ForecastSegment[]): string {
  const medians = segments.flatMap(({ rsrpDbm }) => rsrpDbm?.p50 ?? [])
  if (medians.length === 0) return 'RSRP along the route: no measurements'
  const low = medians.reduce((a, b) => Math.min(a, b))
  const high = medians.reduce((a, b) => Math.max(a, b))
  return `RSRP along the route: median between ${low} and ${high} dBm`
}
