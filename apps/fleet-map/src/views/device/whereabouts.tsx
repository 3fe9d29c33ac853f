import { nearText } from '#client/near'
import { longitudeDifference } from '#telemetry/geo/geo'
import { get } from '../../api/client.ts'
import { useResource } from '../../components/resource.ts'

type WhereaboutsProps = { deviceId: string; location: { lat: number; lon: number } }

const refreshMs = 30_000
/** On the map of a time in the past, the device is somewhere else now. About two kilometres. */
const sameWithinDegrees = 0.02

/** Near which town a device last was. The tooltip has the coordinates, which stand for a town that is not known. */
export function Whereabouts({ deviceId, location: { lat, lon } }: WhereaboutsProps) {
  const listed = useResource(
    `near ${deviceId}`,
    async (signal) => get('/devices', { signal, query: { deviceId: [deviceId], include: ['near'], limit: 1 } }),
    { everyMs: refreshMs },
  )
  const now = listed.value?.items[0]
  const isThere =
    now?.location &&
    Math.max(Math.abs(now.location.lat - lat), Math.abs(longitudeDifference(lon, now.location.lon))) <=
      sameWithinDegrees
  const at = `${lat.toFixed(5)}, ${lon.toFixed(5)}`
  return <span title={at}>{isThere && now?.near ? nearText(now.near) : at}</span>
}
