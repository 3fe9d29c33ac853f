import type { ExpressionSpecification, LayerSpecification, VectorSourceSpecification } from 'maplibre-gl'
import { colorOf, noServiceColor, qualities } from './palette.ts'
import type { CoverageMetric, MapTheme, Shading } from './surface.ts'
import { maxTileZoom } from './tile-cover.ts'

/** The source of coverage and dwells. */
export const areaSourceId = 'areas'

/** At lower zooms, dwells would cover each other. */
const dwellsFromZoom = 7

/** Below this share of samples with service, a cell counts as without service. */
const noServiceBelow = 0.05

export const areaSource = (url: string): VectorSourceSpecification => ({
  type: 'vector',
  tiles: [url],
  maxzoom: maxTileZoom,
})

const properties: Record<CoverageMetric, string> = {
  rsrp: 'rsrpP50Dbm',
  sinr: 'sinrP50Db',
  service: 'serviceRatio',
}

/** Returns the fill colour of a coverage cell. A value at a bound belongs to the better class. */
export function cellColor({ metric, bounds }: Shading): ExpressionSpecification | string {
  const value = properties[metric]
  const [worst = null, ...better] = qualities
  if (bounds.length !== better.length) return noServiceColor
  const steps = better.flatMap((quality, index) => [bounds[index] ?? 0, colorOf(quality)])
  return ['case', ['has', value], ['step', ['get', value], colorOf(worst), ...steps], noServiceColor]
}

const hasNoService: ExpressionSpecification = ['<', ['get', 'serviceRatio'], noServiceBelow]
const cells = { source: areaSourceId, 'source-layer': 'coverage' } as const

/** Returns the layers of coverage cells and dwells, from bottom to top. */
export const areaLayers = (theme: MapTheme, shading: Shading, selectedCell: string | null): LayerSpecification[] => [
  {
    id: 'hexes',
    type: 'fill',
    ...cells,
    filter: ['!', hasNoService],
    paint: {
      'fill-color': cellColor(shading),
      'fill-opacity': 0.58,
    },
  },
  {
    // Dots instead of a lighter colour, which would look like another class.
    id: 'hexes-few',
    type: 'fill',
    ...cells,
    filter: ['all', ['!', hasNoService], ['==', ['get', 'confidence'], 'low']],
    paint: { 'fill-pattern': 'dots' },
  },
  { id: 'hexes-hatched', type: 'fill', ...cells, filter: hasNoService, paint: { 'fill-pattern': 'hatch' } },
  {
    id: 'hex-lines',
    type: 'line',
    ...cells,
    minzoom: 6,
    paint: { 'line-color': theme.outline, 'line-opacity': 0.22, 'line-width': 0.6 },
  },
  {
    id: 'hex-selected',
    type: 'line',
    ...cells,
    filter: isCell(selectedCell),
    paint: { 'line-color': theme.text, 'line-width': 2.5 },
  },
  {
    // A circle that grows with the duration: 6 px for 5 minutes, about 28 px for a day.
    id: 'dwells',
    type: 'circle',
    source: areaSourceId,
    'source-layer': 'dwells',
    minzoom: dwellsFromZoom,
    paint: {
      'circle-radius': ['+', 4, ['*', 2, ['sqrt', ['/', ['get', 'durationS'], 600]]]],
      'circle-color': theme.text,
      'circle-opacity': 0.14,
      'circle-stroke-color': theme.text,
      'circle-stroke-opacity': 0.28,
      'circle-stroke-width': 1,
    },
  },
]

/** Selects a coverage cell; null selects none. */
export const isCell = (h3: string | null): ExpressionSpecification => ['==', ['get', 'h3'], h3 ?? '']
