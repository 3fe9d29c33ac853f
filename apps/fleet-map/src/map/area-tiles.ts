import type { LayerSpecification, Map as MapLibre } from 'maplibre-gl'
import { areaLayers, areaSource, areaSourceId, cellColor, isCell } from './area-layers.ts'
import { markDrawn } from './drawn.ts'
import { readTheme } from './style.ts'
import type { Shading } from './surface.ts'
import type { TileId } from './tile-cover.ts'

const refreshMs = 60_000
/** A new fleet has its first cells within a minute, so the first checks follow each other faster. */
const firstRefreshMs = 5_000
const firstRefreshes = 20
const cellLayers = ['hexes', 'hexes-hatched']

/**
 * Draws coverage and dwells from the service's tiles. Refreshes them without clearing what is drawn. `above` returns the
 * layer that lies on top of them.
 *
 * Long because what is added, what failed and when to refresh depend on each other.
 */
export function openAreaTiles(map: MapLibre, above: () => string) {
  let url: string | null = null
  let shading: Shading = { metric: 'rsrp', bounds: [] }
  let selectedCell: string | null = null
  let added: LayerSpecification[] = []
  let hasStyle = false
  let isDrawn = false
  /** Tiles that failed and are not drawn until they are read again. */
  let failed: TileId[] = []
  let refreshes = 0
  let allRefreshedMs = 0
  let timer: ReturnType<typeof setTimeout> | undefined

  const remove = () => {
    for (const { id } of added) map.removeLayer(id)
    if (added.length > 0) map.removeSource(areaSourceId)
    added = []
    failed = []
  }
  const add = () => {
    if (!hasStyle || url === null) return
    map.addSource(areaSourceId, areaSource(url))
    added = areaLayers(readTheme(), shading, selectedCell)
    for (const layer of added) map.addLayer(layer, above())
  }
  const refresh = () => {
    if (added.length === 0 || document.hidden) return
    const nowMs = performance.now()
    const areOthersDue = failed.length === 0 || nowMs - allRefreshedMs >= refreshMs
    // MapLibre never reads a failed vector tile again that is refreshed without its id.
    map.refreshTiles(areaSourceId, failed)
    failed = []
    if (!areOthersDue) return
    allRefreshedMs = nowMs
    map.refreshTiles(areaSourceId)
  }
  const schedule = () => {
    clearTimeout(timer)
    timer = setTimeout(
      () => {
        refreshes += 1
        refresh()
        schedule()
      },
      failed.length > 0 || (!isDrawn && refreshes < firstRefreshes) ? firstRefreshMs : refreshMs,
    )
  }
  schedule()

  map.on('error', (event) => {
    if (!('sourceId' in event) || event.sourceId !== areaSourceId) return
    const { tile } = event as { tile?: { tileID: { canonical: TileId } } }
    if (!tile) return
    failed.push(tile.tileID.canonical)
    if (failed.length === 1) schedule()
  })
  map.on('render', () => {
    if (isDrawn || added.length === 0 || !map.isSourceLoaded(areaSourceId)) return
    if (map.queryRenderedFeatures({ layers: cellLayers }).length === 0) return
    isDrawn = true
    markDrawn('coverage')
  })

  return {
    /** Draws the areas again after the style of the map was loaded. */
    restore(): void {
      hasStyle = true
      added = []
      failed = []
      add()
    },
    /** The style of the map is being replaced. */
    suspend(): void {
      hasStyle = false
      added = []
    },
    /** Draws other tiles; null draws none. What the earlier ones showed disappears at once. */
    follow(next: string | null): void {
      if (next === url) return
      remove()
      url = next
      add()
    },
    shade(next: Shading): void {
      shading = next
      if (added.length > 0) map.setPaintProperty('hexes', 'fill-color', cellColor(shading))
    },
    selectCell(h3: string | null): void {
      selectedCell = h3
      if (added.length > 0) map.setFilter('hex-selected', isCell(h3))
    },
    layers: () => (added.length > 0 ? cellLayers : []),
    close: () => clearTimeout(timer),
  }
}
