import type {
  ExpressionSpecification,
  LayerSpecification,
  VariableAnchorOffsetCollectionSpecification,
} from 'maplibre-gl'
import { townDotIcon } from '../icons.ts'
import { readTheme } from '../style.ts'
import type { MapTheme } from '../surface.ts'
import { archiveAt } from './archives.ts'
import { type Background, background, localFont } from './background.ts'

const source = 'world'
/** The browser takes the weight from the first name and the font from the second. */
const heavyFont = ['Semibold', ...localFont]
const countryNamesToZoom = 7
/** From it on, the name stands at the place of the town without a dot. */
const dotsToZoom = 9

type Places = VariableAnchorOffsetCollectionSpecification

/**
 * Where a name can stand, by preference: beside its dot or at its place, or further away if a device is in the town. Offsets in
 * ems. Both lists have the same length, as an expression requires.
 */
const further: Places = ['left', [1.5, 0], 'right', [-1.5, 0], 'bottom', [0, -1.4], 'top', [0, 1.4]]
const besideDot: Places = ['left', [0.5, 0], 'right', [-0.5, 0], 'bottom', [0, -0.4], 'top', [0, 0.4], ...further]
const corners: Places = ['top-left', [1, 1], 'top-right', [-1, 1], 'bottom-left', [1, -1]]
const overPlace: Places = ['center', [0, 0], ...further, ...corners]

/** Whether a name is shown at the zoom of the tile. */
const isShown: ExpressionSpecification = ['<=', ['get', 'minZoom'], ['zoom']]
const rank: ExpressionSpecification = ['get', 'rank']

/** Ten times the decimal logarithm of a town's weight: a town of 10,000, 100,000 and 3 million inhabitants. */
const [small, medium, large] = [40, 50, 65]

const townSize: ExpressionSpecification = [
  'interpolate',
  ['linear'],
  ['zoom'],
  ...[4, ['interpolate', ['linear'], rank, medium, 10, large, 13]],
  ...[8, ['interpolate', ['linear'], rank, small, 10.5, large, 16]],
  ...[12, ['interpolate', ['linear'], rank, small, 12, large, 20]],
] as unknown as ExpressionSpecification

/**
 * Reads the map of the world: land, borders and the names of countries and towns, in the colours of the page. Throws if the service
 * does not have it.
 */
export async function readWorld(address: string): Promise<Background> {
  await archiveAt(address).getHeader()
  const layers = [...shapeLayers(readTheme()), ...nameLayers(readTheme())]
  return background({ sources: { [source]: { type: 'vector', url: `pmtiles://${address}` } }, layers }, localFont)
}

const shapeLayers = (theme: MapTheme): LayerSpecification[] => [
  { id: 'land', type: 'fill', source, 'source-layer': 'land', paint: { 'fill-color': theme.land } },
  {
    id: 'coast',
    type: 'line',
    source,
    'source-layer': 'land',
    paint: { 'line-color': theme.border, 'line-width': ['interpolate', ['linear'], ['zoom'], 2, 0.5, 9, 1.2] },
  },
  {
    id: 'borders',
    type: 'line',
    source,
    'source-layer': 'borders',
    layout: { 'line-join': 'round' },
    paint: { 'line-color': theme.border, 'line-width': ['interpolate', ['linear'], ['zoom'], 2, 0.6, 6, 1.2, 10, 2.2] },
  },
]

/** The names, from bottom to top: countries lie above towns, so their names come first. */
const nameLayers = (theme: MapTheme): LayerSpecification[] => [
  {
    id: 'towns',
    type: 'symbol',
    source,
    'source-layer': 'towns',
    filter: isShown,
    layout: {
      'text-field': ['get', 'name'],
      'text-font': ['step', rank, ['literal', localFont], medium, ['literal', heavyFont]],
      'text-size': townSize,
      'text-max-width': 8,
      'text-padding': 6,
      'symbol-sort-key': ['-', rank],
      'text-variable-anchor-offset': ['step', ['zoom'], ['literal', besideDot], dotsToZoom, ['literal', overPlace]],
      'text-justify': 'auto',
      'icon-image': ['step', ['zoom'], townDotIcon, dotsToZoom, ''],
      // A device may stand on the dot.
      'icon-optional': true,
    },
    paint: { 'text-color': theme.label, 'text-halo-color': theme.land, 'text-halo-width': 1.5 },
  },
  {
    id: 'countries',
    type: 'symbol',
    source,
    'source-layer': 'countries',
    maxzoom: countryNamesToZoom,
    filter: isShown,
    layout: {
      'text-field': ['get', 'name'],
      'text-font': heavyFont,
      'text-size': ['interpolate', ['linear'], ['zoom'], 2, 11, 6, 15],
      'text-letter-spacing': 0.08,
      'text-max-width': 7,
      'text-padding': 8,
      'symbol-sort-key': ['get', 'order'],
    },
    paint: { 'text-color': theme.label, 'text-halo-color': theme.land, 'text-halo-width': 1.5 },
  },
]
