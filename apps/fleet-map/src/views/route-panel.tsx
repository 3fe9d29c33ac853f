import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import { Icon } from '../components/icon.tsx'
import { useResource } from '../components/resource.ts'
import { Failure, Loading } from '../components/states.tsx'
import { drawForecast } from '../route/drawn.ts'
import { kilometres, type LonLat, lengthOf } from '../route/geometry.ts'
import { readRouteFile } from '../route/read-file.ts'
import type { RouteForecast } from '../route/types.ts'
import {
  addPoint,
  clearRoute,
  drawnRoute,
  finishRoute,
  followAddress,
  route,
  setRoute,
  undoPoint,
} from '../state/route.ts'
import { place } from '../state/url.ts'
import '../styles/route.css'
import { RouteResult } from './route-result.tsx'

type RoutePanelProps = {
  /** `sinceMinutes` null uses the service's default of 30 days. */
  filter: { orgId: string; plmn: string; sinceMinutes: number | null }
  operators: readonly { plmn: string; name: string }[]
  /** Returns the centre of the map, where keyboard users add points. */
  centre: () => { lon: number; lat: number }
  onShow: (path: readonly LonLat[]) => void
  onClose: () => void
}

const shortestSegmentM = 100
const longestSegmentM = 1_000
// The chart has no room for more segments.
const usefulSegments = 2_000

const segmentLengthM = (lengthM: number): number =>
  Math.min(longestSegmentM, Math.max(shortestSegmentM, Math.ceil(lengthM / usefulSegments / 50) * 50))

/** Draws a route or opens a route file, and shows the signal that the fleet measured along it. */
export function RoutePanel({ filter, operators, centre, onShow, onClose }: RoutePanelProps) {
  const { path, drawing, name } = route.value
  const [fileError, setFileError] = useState<string>()
  const lengthM = useMemo(() => lengthOf(path), [path])
  useEffect(followAddress, [place.value.params.route])

  const isComplete = !drawing && path.length >= 2
  const forecast = useResource<RouteForecast | undefined>(
    isComplete ? JSON.stringify(['route', path, filter]) : 'no route',
    async (signal) =>
      isComplete
        ? call<RouteForecast>('/fleet/forecast', {
            method: 'POST',
            signal,
            body: {
              path,
              everyM: segmentLengthM(lengthM),
              ...(filter.orgId && { orgId: filter.orgId }),
              ...(filter.plmn && { plmn: filter.plmn }),
              ...(filter.sinceMinutes && { sinceMinutes: filter.sinceMinutes }),
            },
          })
        : undefined,
  )
  const found = isComplete ? forecast.value : undefined
  const drawn = useMemo(() => found && drawForecast(path, found), [path, found])
  useEffect(() => {
    drawnRoute.value = drawn ?? { stretches: [], marks: [], draft: path }
  }, [drawn, path])
  useEffect(
    () => () => {
      drawnRoute.value = null
    },
    [],
  )
  useDrawingKeys()
  // Show the whole route of a link or file. A route that was drawn by clicks is already visible.
  const clicked = useRef(false)
  clicked.current ||= drawing && path.length > 0
  useEffect(() => {
    if (!clicked.current && path.length >= 2) onShow(path)
  }, [path])

  const open = async (file: File | undefined) => {
    if (!file) return
    setFileError(undefined)
    try {
      const read = await readRouteFile(file)
      clicked.current = false
      setRoute({ path: read.path, drawing: false, name: file.name })
    } catch (error) {
      setFileError(error instanceof Error ? error.message : String(error))
    }
  }
  useDroppedFile(open)

  return (
    <aside class="device-panel floating route-panel" aria-label="Route forecast">
      <header>
        <div>
          <h2>Route forecast</h2>
          <p class="label" aria-live="polite">
            {path.length < 2 ? 'Expected signal along a route' : `${name ? `${name}, ` : ''}${kilometres(lengthM)}`}
          </p>
        </div>
        <button type="button" class="button quiet icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <section>
        {drawing ? <DrawingHelp points={path.length} /> : null}
        <div class="route-tools">
          {drawing ? (
            <>
              <button type="button" class="button small primary" disabled={path.length < 2} onClick={finishRoute}>
                Finish
              </button>
              <button type="button" class="button small" disabled={path.length === 0} onClick={undoPoint}>
                Undo
              </button>
              <button type="button" class="button small" onClick={() => addPoint(pointOf(centre()))}>
                Add point at map centre
              </button>
            </>
          ) : (
            <button type="button" class="button small" onClick={() => setRoute({ drawing: true, name: null })}>
              Continue drawing
            </button>
          )}
          {path.length > 0 ? (
            <button type="button" class="button small" onClick={clearRoute}>
              Clear
            </button>
          ) : null}
          <label class="button small">
            <Icon name="upload" size={14} /> Open file
            <input
              class="visually-hidden"
              type="file"
              aria-label="GPX or GeoJSON file"
              accept=".gpx,.geojson,.json,application/gpx+xml,application/geo+json"
              onChange={(event) => {
                void open(event.currentTarget.files?.[0])
                event.currentTarget.value = ''
              }}
            />
          </label>
        </div>
        {fileError ? (
          <div class="notice bad" role="alert">
            {fileError}
          </div>
        ) : null}
      </section>
      {!isComplete ? null : found ? (
        <RouteResult forecast={found} operators={operators} path={path} onShow={onShow} />
      ) : forecast.error ? (
        <Failure error={forecast.error} retry={forecast.reload} />
      ) : (
        <Loading label="Loading the forecast" />
      )}
    </aside>
  )
}

const DrawingHelp = ({ points }: { points: number }) => (
  <p class="label">
    {points === 0
      ? 'Click the map to set the start of the route, or drop a GPX or GeoJSON file.'
      : 'Click to add points. Double-click or press Enter to finish. Press Backspace to remove the last point.'}
  </p>
)

// Five decimals are about one metre, the accuracy of a click.
const pointOf = ({ lon, lat }: { lon: number; lat: number }): LonLat => [
  Math.round(lon * 1e5) / 1e5,
  Math.round(lat * 1e5) / 1e5,
]

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.closest('input, textarea, select, button, a, summary') !== null

/** Enter finishes the route and Backspace removes the last point, except while a field or button has the focus. */
function useDrawingKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!route.value.drawing || isTyping(event.target)) return
      if (event.key === 'Enter') finishRoute()
      else if (event.key === 'Backspace' || event.key === 'Delete') undoPoint()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

/** Opens a file dropped anywhere on the page while the panel is open. */
function useDroppedFile(open: (file: File | undefined) => void): void {
  const newest = useRef(open)
  newest.current = open
  useEffect(() => {
    const allow = (event: DragEvent) => event.preventDefault()
    const drop = (event: DragEvent) => {
      event.preventDefault()
      newest.current(event.dataTransfer?.files[0])
    }
    addEventListener('dragover', allow)
    addEventListener('drop', drop)
    return () => {
      removeEventListener('dragover', allow)
      removeEventListener('drop', drop)
    }
  }, [])
}
