import { useRef } from 'preact/hooks'
import { nearText } from '#client/near'
import { get } from '../../api/client.ts'
import { useResource } from '../../components/resource.ts'

/** About a kilometre: names of towns do not change within. */
const digits = 2
/** While the time slider is played, only the places where it rests are asked for. */
const pauseMs = 250

/** Near which town a position is. The tooltip has the coordinates, which stand for a town that is not known. */
export function Whereabouts({ location: { lat, lon } }: { location: { lat: number; lon: number } }) {
  const asked = { lat: Number(lat.toFixed(digits)), lon: Number(lon.toFixed(digits)) }
  // The name before is better than coordinates that change with every step.
  const last = useRef<string | undefined>(undefined)
  const found = useResource(`near ${asked.lat} ${asked.lon}`, async (signal) => {
    if (last.current !== undefined) await new Promise((resolve) => setTimeout(resolve, pauseMs))
    return signal.aborted ? undefined : get('/towns/nearest', { signal, query: asked })
  })
  if (found.value) last.current = found.value.near ? nearText(found.value.near) : undefined
  const at = `${lat.toFixed(5)}, ${lon.toFixed(5)}`
  return <span title={at}>{last.current ?? at}</span>
}
