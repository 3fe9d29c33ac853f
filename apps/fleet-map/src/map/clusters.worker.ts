import Supercluster from 'supercluster'

/** Points as flat arrays, which are transferred to this worker without a copy. */
type ClusterLoad = { load: { lonLat: Float64Array; rank: Uint8Array } }
type ClusterQuery = { query: { sequence: number; bounds: [number, number, number, number]; zoom: number } }
/** `point` is the index of a single device; null for a cluster. `worst` is the worst rank in the cluster. */
export type ClusterAnswer = {
  sequence: number
  items: { lon: number; lat: number; point: number | null; count: number; worst: number; expandZoom: number | null }[]
}

type PointProps = { point: number; worst: number }
type ClusterProps = { worst: number }

let index: Supercluster<PointProps, ClusterProps> | undefined

addEventListener('message', (event: MessageEvent<ClusterLoad | ClusterQuery>) => {
  const message = event.data
  if ('load' in message) {
    const { lonLat, rank } = message.load
    index = new Supercluster<PointProps, ClusterProps>({
      radius: 46,
      maxZoom: 13,
      minPoints: 4,
      extent: 512,
      map: ({ worst }) => ({ worst }),
      reduce: (into, one) => {
        into.worst = Math.min(into.worst, one.worst)
      },
    })
    const points = Array.from(rank, (worst, point) => ({
      type: 'Feature' as const,
      properties: { point, worst },
      geometry: { type: 'Point' as const, coordinates: [lonLat[point * 2] ?? 0, lonLat[point * 2 + 1] ?? 0] },
    }))
    index.load(points)
    return
  }
  const { sequence, bounds, zoom } = message.query
  const found = index?.getClusters(bounds, Math.floor(zoom)) ?? []
  const items: ClusterAnswer['items'] = found.map(({ geometry, properties }) => {
    const [lon = 0, lat = 0] = geometry.coordinates
    return 'cluster' in properties
      ? {
          lon,
          lat,
          point: null,
          count: properties.point_count,
          worst: properties.worst,
          expandZoom: index?.getClusterExpansionZoom(properties.cluster_id) ?? null,
        }
      : { lon, lat, point: properties.point, count: 1, worst: properties.worst, expandZoom: null }
  })
  postMessage({ sequence, items } satisfies ClusterAnswer)
})
