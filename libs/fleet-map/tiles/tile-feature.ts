/** A property of a feature. A missing value is left out, because the format has no null. */
type Value = string | number | boolean | null | undefined

type Properties = Record<string, Value>

/** A feature in the coordinates of its tile. A polygon has one or more closed rings, clockwise on the screen. */
export type TileFeature = {
  properties: Properties
  /** Properties that change with time alone. They do not change the entity tag. */
  ages?: Properties
} & ({ type: 1; geometry: [x: number, y: number][] } | { type: 3; geometry: [x: number, y: number][][] })

export const tileLayerNames = ['devices', 'coverage', 'dwells'] as const
export type TileLayerName = (typeof tileLayerNames)[number]

export type TileLayers = Partial<Record<TileLayerName, TileFeature[]>>

/** The content of a tile at a time. `omitted`: layers that the plan lacks, or that have too many items to read. */
export type TileContent = {
  layers: TileLayers
  isEmpty: boolean
  omitted: TileLayerName[]
  etag: string
  nowMs: number
}
