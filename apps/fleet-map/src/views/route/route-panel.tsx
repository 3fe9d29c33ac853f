import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Icon } from '../../components/icon.tsx'
import { FailureNotice } from '../../components/notice.tsx'
import { Failure, Loading } from '../../components/states.tsx'
import { kilometres, type LonLat, routeLengthM } from '../../route/geometry.ts'
import {
  addPoint,
  clearRoute,
  finishRoute,
  followAddress,
  type RouteState,
  route,
  setRoute,
  undoPoint,
  wholeLines,
} from '../../state/route.ts'
import { place } from '../../state/url.ts'
import css from './route.module.css'
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
  const { lines, drawing, file } = route.value
  const hasLength = wholeLines(route.value).length > 0
  const [fileError, setFileError] = useState<string>()
  const lengthM = useMemo(() => routeLengthM(lines), [lines])
  useEffect(followAddress, [place.value.params.route])

  const { isComplete, forecast } = useRouteForecast(route.value, lengthM, filter)
  const found = forecast.value
  useDrawingKeys()
  // Show the whole route of a link or file, also after the result has made the panel larger. A route that was drawn by
  // clicks is already visible.
  const clicked = useRef(false)
  clicked.current ||= drawing && lines.length > 0
  useEffect(() => {
    if (!clicked.current && hasLength) onShow(lines.flat())
  }, [lines, found === undefined])

  const open = async (chosen: File | undefined) => {
    if (!chosen) return
    setFileError(undefined)
    try {
      const { readRouteFile } = await import('#client/route/route-file')
      const { lines, notes } = readRouteFile(new Uint8Array(await chosen.arrayBuffer()))
      clicked.current = false
      setRoute({ lines, drawing: false, file: { name: chosen.name, notes } })
    } catch (error) {
      setFileError(error instanceof Error ? error.message : String(error))
    }
  }
  useDroppedFile(open)

  return (
    <aside class="device-panel floating" aria-label="Route forecast">
      <header>
        <div>
          <h2>Route forecast</h2>
          <p class="label" aria-live="polite">
            {hasLength ? titleOf(route.value, lengthM) : 'Expected signal along a route'}
          </p>
        </div>
        <button type="button" class="button quiet icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      <section>
        {drawing ? <DrawingHelp points={lines.flat().length} /> : null}
        <RouteTools centre={centre} onFile={open} hasFault={fileError !== undefined} />
        <FailureNotice id="route-file-fault" reason={fileError} />
        {file?.notes.map((note) => (
          <p key={note} class="label" role="status">
            {note}
          </p>
        ))}
      </section>
      {!isComplete ? null : found ? (
        <RouteResult forecast={found} operators={operators} lines={lines} onShow={onShow} />
      ) : forecast.error ? (
        <Failure error={forecast.error} retry={forecast.reload} />
      ) : (
        <Loading label="Loading the forecast" />
      )}
    </aside>
  )
}

/** Returns the file and the length, such as "day.gpx, 12.4 km in 2 parts". */
const titleOf = ({ lines, file }: RouteState, lengthM: number): string =>
  `${file ? `${file.name}, ` : ''}${kilometres(lengthM)}${lines.length > 1 ? ` in ${lines.length} parts` : ''}`

type RouteToolsProps = Pick<RoutePanelProps, 'centre'> & {
  onFile: (file: File | undefined) => Promise<void>
  /** The file that was opened cannot be read. */
  hasFault: boolean
}

/** The buttons that draw a route or open a file. */
function RouteTools({ centre, onFile, hasFault }: RouteToolsProps) {
  const { lines, drawing } = route.value
  return (
    <div class={css.routeTools}>
      {drawing ? (
        <>
          <button
            type="button"
            class="button small primary"
            disabled={wholeLines(route.value).length === 0}
            onClick={finishRoute}
          >
            Finish
          </button>
          <button type="button" class="button small" disabled={lines.length === 0} onClick={undoPoint}>
            Undo
          </button>
          <button type="button" class="button small" onClick={() => addPoint(pointOf(centre()))}>
            Add point at map centre
          </button>
        </>
      ) : (
        <button type="button" class="button small" onClick={() => setRoute({ drawing: true, file: null })}>
          Continue drawing
        </button>
      )}
      {lines.length > 0 ? (
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
          {...(hasFault ? { 'aria-invalid': true, 'aria-describedby': 'route-file-fault' } : {})}
          accept=".gpx,.geojson,.json,application/gpx+xml,application/geo+json"
          onChange={(event) => {
            void onFile(event.currentTarget.files?.[0])
            event.currentTarget.value = ''
          }}
        />
      </label>
    </div>
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
