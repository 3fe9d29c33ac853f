import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { FleetDevice } from '../../api/schemas.ts'
import { CompleteFrom } from '../../components/complete-from.tsx'
import { duration } from '../../components/format.ts'
import { NoMap } from '../../components/no-map.tsx'
import { FailureNotice } from '../../components/notice.tsx'
import { useResource } from '../../components/resource.ts'
import { boundsOf, type Fit } from '../../map/surface.ts'
import type { LonLat } from '../../route/geometry.ts'
import { useDwells } from '../../state/device-past.ts'
import { readTrack } from '../../state/history.ts'
import { completeFromMs } from '../../state/history-row.ts'
import { canDrawMap } from '../../state/map-support.ts'
import { shownModem } from '../../state/modems.ts'
import { ofModem, radioHistory } from '../../state/trail.ts'
import { goTo } from '../../state/url.ts'
import { MapSurface } from '../map/map-surface.tsx'
import css from './device.module.css'

/** `device`: as the map shows it, with its position. */
type DeviceMapProps = { device: FleetDevice; location: { lat: number; lon: number } }

const day = { sinceMinutes: 1_440, range: null }
const refreshMs = 60_000
const paddingPx = { left: 40, top: 40, right: 48, bottom: 40 }
const nothing: never[] = []

/** The map of a device: its trail of the last day by signal, where it stood and for how long, and where it is. */
export function DeviceMap({ device, location }: DeviceMapProps) {
  const { deviceId } = device
  const track = useResource(`day ${deviceId}`, (signal) => readTrack(deviceId, day, signal), { everyMs: refreshMs })
  const dwells = useDwells(deviceId, day, true)
  const modem = shownModem(device, null)?.modem ?? null
  const trail = useMemo(
    () => (track.value ? radioHistory(ofModem(track.value, modem)).trail : nothing),
    [track.value, modem],
  )
  const stops = useMemo(
    () => dwells.value?.items.map(({ lat, lon, durationS }) => ({ lat, lon, label: duration(durationS) })) ?? nothing,
    [dwells.value],
  )
  const devices = useMemo(() => [device], [device])
  const fromMs = useMemo(
    () => (track.value ? completeFromMs(track.value.cellular, track.value.fixes) : null),
    [track.value],
  )
  const isRead = Boolean(track.value ?? track.error)
  const view = useDayView(isRead ? [...trail, location] : nothing)
  if (!canDrawMap.value) return <NoMap>Trips and dwells of the day are listed below.</NoMap>
  return (
    <>
      <FailureNotice reason={track.value ? undefined : track.error?.message} />
      <div class={css.map}>
        <MapSurface
          inPage
          start={{ ...location, zoom: 12 }}
          devices={devices}
          selectedId={deviceId}
          trail={trail}
          stops={stops}
          fit={view.fit}
          onMove={(_view, _bounds, byReader) => byReader && view.keep()}
          onSelectDevice={(id) => id && goTo('map', { device: id })}
        />
      </div>
      <CompleteFrom ms={fromMs} />
    </>
  )
}

/** The view around all positions. It follows them until `keep` is called, because the reader has moved the map. */
function useDayView(positions: readonly { lat: number; lon: number }[]) {
  const [fit, setFit] = useState<Fit | null>(null)
  const isKept = useRef(false)
  const bounds = boundsOf(positions.map(({ lon, lat }): LonLat => [lon, lat]))
  useEffect(() => {
    if (!bounds || isKept.current) return
    setFit((before) => ({ bounds, padding: paddingPx, animated: before !== null, maxZoom: 14 }))
  }, [bounds?.join()])
  const keep = () => {
    isKept.current = true
  }
  return { fit, keep }
}
