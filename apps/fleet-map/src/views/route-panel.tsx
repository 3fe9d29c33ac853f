import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Icon } from '../components/icon.tsx'
import { Failure, Loading } from '../components/states.tsx'
import { kilometres, type LonLat, lengthOf } from '../route/geometry.ts'
import { readRouteFile } from '../route/read-file.ts'
import { addPoint, clearRoute, finishRoute, followAddress, route, setRoute, undoPoint } from '../state/route.ts'
import { place } from '../state/url.ts'
import '../styles/route.css'
import { type RouteFilter, useRouteForecast } from './route-forecast.ts'
import { useDrawingKeys, useDroppedFile } from './route-input.ts'
import { RouteResult } from './route-result.tsx'

type RoutePanelProps = {
  filter: RouteFilter
  operators: readonly { plmn: string; name: string }[]
  /** Returns the centre of the map, where keyboard users add points. */
  centre: () => { lon: number; lat: number }
  onShow: (path: readonly LonLat[]) => void
  onClose: () => void
}

/** Draws a route or opens a route file, and shows the signal that the fleet measured along it. */
export function RoutePanel({ filter, operators, centre, onShow, onClose }: RoutePanelProps) {
  const { path, drawing, name } = route.value
  const [fileError, setFileError] = useState<string>()
  const lengthM = useMemo(() => lengthOf(path), [path])
  useEffect(followAddress, [place.value.params.route])

  const { isComplete, forecast } = useRouteForecast(route.value, lengthM, filter)
  const found = forecast.value
  useDrawingKeys()
  // Show the whole route of a link or file, also after the result has made the panel larger. A route that was drawn by
  // clicks is already visible.
  const clicked = useRef(false)
  clicked.current ||= drawing && path.length > 0
  useEffect(() => {
    if (!clicked.current && path.length >= 2) onShow(path)
  }, [path, found === undefined])

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
