import type {
  ExpressionSpecification,
  GeoJSONSourceSpecification,
  LayerSpecification,
  StyleSpecification,
} from 'maplibre-gl'
import { type Background, localFont } from './background/background.ts'
import { statusIcon, zoneNumberIcon } from './icons.ts'
import { ringRadiusPx } from './ring.ts'
import type { MapTheme } from './surface.ts'

const themeColor = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

/** Reads the map's colours from the page's theme. */
export const readTheme = (): MapTheme => ({
  water: themeColor('--map-water'),
  land: themeColor('--map-land'),
  border: themeColor('--map-border'),
  label: themeColor('--map-label'),
  outline: themeColor('--marker-outline'),
  text: themeColor('--text'),
  surface: themeColor('--surface'),
  accent: themeColor('--accent'),
})

const geojson: GeoJSONSourceSpecification = { type: 'geojson', data: { type: 'FeatureCollection', features: [] } }
const maxNameLength = 32
/** A name without spaces is one line, however long. */
const shortName: ExpressionSpecification = [
  'case',
  ['>', ['length', ['get', 'name']], maxNameLength],
  ['concat', ['slice', ['get', 'name'], 0, maxNameLength], '…'],
  ['get', 'name'],
]

/** Grows with the number of devices; `scale` is the size of one pixel. */
const byCount = (scale: number): ExpressionSpecification => [
  'interpolate',
  ['linear'],
  ['log10', ['get', 'count']],
  ...[0.6, 14 * scale, 2, 20 * scale, 5, 36 * scale],
]
const clusterRadius = byCount(1)
const ringSize = byCount(1 / ringRadiusPx)

/** Below, names would cover the map; from the second zoom on, the outlines are large enough to be seen. */
const placeNamesFromZoom = 6
const placeDotsToZoom = 11

/** Below, devices are too close to each other for their names. */
const deviceNamesFromZoom = 9

/** The layers in which a click chooses a place. */
export const placeLayers = ['places', 'place-dots', 'place-names']

const lowestTrailLayer = 'trail-casing'

/** Returns the lowest layer above coverage and dwells: the names of the background, or the trail. */
export const lowestLayerAboveAreas = (background: Background | null): string =>
  background?.labels[0]?.id ?? lowestTrailLayer

/** Returns the layers of the country outlines. */
const outlineLayers = (theme: MapTheme): LayerSpecification[] => [
  { id: 'land', type: 'fill', source: 'countries', paint: { 'fill-color': theme.land } },
  {
    id: 'borders',
    type: 'line',
    source: 'countries',
    paint: { 'line-color': theme.border, 'line-width': ['interpolate', ['linear'], ['zoom'], 2, 0.5, 8, 1.2] },
  },
]

/** Keeps the names of the background away from devices and clusters. They draw nothing. */
const roomLayers: LayerSpecification[] = [
  {
    id: 'cluster-room',
    type: 'symbol',
    source: 'clusters',
    layout: { 'icon-image': ['get', 'ring'], 'icon-size': ringSize, 'icon-allow-overlap': true },
    paint: { 'icon-opacity': 0 },
  },
  {
    id: 'device-room',
    type: 'symbol',
    source: 'devices',
    layout: { 'icon-image': ['get', 'icon'], 'icon-allow-overlap': true },
    paint: { 'icon-opacity': 0 },
  },
]

/**
 * Returns the style: layers from bottom to top, and sources that are empty except for the outlines or the background, which
 * replaces the outlines.
 *
 * Long because it lists the layers.
 */
export function mapStyle(
  theme: MapTheme,
  countries: GeoJSON.FeatureCollection,
  background: Background | null,
): StyleSpecification {
  const font = background?.font ?? localFont
  const layers: LayerSpecification[] = [
    { id: 'water', type: 'background', paint: { 'background-color': theme.water } },
    ...(background ? [...background.layers, ...background.labels, ...roomLayers] : outlineLayers(theme)),
    {
      id: lowestTrailLayer,
      type: 'line',
      source: 'trail',
      layout: { 'line-cap': 'round', 'line-join': 'round' },
      paint: { 'line-color': theme.outline, 'line-width': 6, 'line-opacity': 0.8 },
    },
    {
      id: 'trail',
      type: 'line',
      source: 'trail',
      filter: ['!', ['get', 'dashed']],
      layout: { 'line-cap': 'round', 'line-join': 'round' },
      paint: { 'line-color': ['get', 'color'], 'line-width': 3.6 },
    },
    {
      id: 'trail-dashed',
      type: 'line',
      source: 'trail',
      filter: ['get', 'dashed'],
      paint: { 'line-color': ['get', 'color'], 'line-width': 3, 'line-dasharray': [1.2, 1.2] },
    },
    {
      id: 'stops',
      type: 'circle',
      source: 'stops',
      paint: {
        'circle-radius': 5,
        'circle-color': theme.surface,
        'circle-stroke-color': theme.text,
        'circle-stroke-width': 2,
      },
    },
    {
      id: 'trail-error',
      type: 'circle',
      source: 'trail-head',
      paint: { 'circle-radius': ['get', 'radius'], 'circle-color': theme.text, 'circle-opacity': 0.12 },
    },
    {
      id: 'trail-head',
      type: 'circle',
      source: 'trail-head',
      paint: {
        'circle-radius': 6,
        'circle-color': ['get', 'color'],
        'circle-stroke-color': theme.text,
        'circle-stroke-width': 2,
      },
    },
    {
      id: 'zone',
      type: 'line',
      source: 'zone',
      layout: { 'line-join': 'round' },
      paint: { 'line-color': theme.text, 'line-width': 2.5, 'line-dasharray': [2, 1] },
    },
    {
      id: 'places',
      type: 'fill',
      source: 'places',
      paint: { 'fill-color': theme.accent, 'fill-opacity': ['case', ['get', 'selected'], 0.22, 0.1] },
    },
    {
      id: 'place-outlines',
      type: 'line',
      source: 'places',
      layout: { 'line-join': 'round' },
      paint: { 'line-color': theme.accent, 'line-width': ['case', ['get', 'selected'], 2.5, 1.5] },
    },
    {
      // Most outlines are smaller than a pixel until the reader zooms in.
      id: 'place-dots',
      type: 'circle',
      source: 'place-names',
      maxzoom: placeDotsToZoom,
      paint: {
        'circle-radius': 4,
        'circle-color': theme.surface,
        'circle-stroke-color': theme.accent,
        'circle-stroke-width': 2,
      },
    },
    {
      id: 'route-casing',
      type: 'line',
      source: 'route',
      layout: { 'line-cap': 'round', 'line-join': 'round' },
      paint: {
        'line-color': theme.outline,
        'line-width': ['match', ['get', 'look'], 'dead', 11, 'known', 8, 4],
        'line-opacity': 0.85,
      },
    },
    {
      id: 'route',
      type: 'line',
      source: 'route',
      filter: ['==', ['get', 'look'], 'known'],
      layout: { 'line-cap': 'round', 'line-join': 'round' },
      paint: { 'line-color': ['get', 'color'], 'line-width': 5 },
    },
    {
      id: 'route-dead',
      type: 'line',
      source: 'route',
      filter: ['==', ['get', 'look'], 'dead'],
      paint: { 'line-color': ['get', 'color'], 'line-width': 7, 'line-dasharray': [0.7, 0.5] },
    },
    {
      id: 'route-unknown',
      type: 'line',
      source: 'route',
      filter: ['==', ['get', 'look'], 'unknown'],
      paint: { 'line-color': ['get', 'color'], 'line-width': 2.5, 'line-dasharray': [1, 1.6] },
    },
    {
      id: 'route-points',
      type: 'circle',
      source: 'route-points',
      filter: ['==', ['get', 'label'], ''],
      paint: {
        'circle-radius': 4.5,
        'circle-color': theme.text,
        'circle-stroke-color': theme.outline,
        'circle-stroke-width': 2,
      },
    },
    {
      // Names of the background are more exact.
      id: 'country-names',
      type: 'symbol',
      source: 'country-names',
      minzoom: 2.2,
      maxzoom: 7,
      filter: background === null || background.labels.length === 0,
      layout: { 'icon-image': ['get', 'image'], 'symbol-sort-key': ['get', 'order'], 'icon-padding': 6 },
    },
    {
      // Numbers of dead zones. Where two would overlap, only the lower one is drawn until the reader zooms in.
      id: 'route-numbers',
      type: 'symbol',
      source: 'route-points',
      filter: ['!=', ['get', 'label'], ''],
      layout: {
        'icon-image': zoneNumberIcon,
        'symbol-sort-key': ['to-number', ['get', 'label']],
        'text-field': ['get', 'label'],
        'text-font': font,
        'text-size': 12,
      },
      paint: { 'text-color': theme.text },
    },
    {
      id: 'place-names',
      type: 'symbol',
      source: 'place-names',
      minzoom: placeNamesFromZoom,
      layout: {
        'text-field': ['get', 'name'],
        'text-font': font,
        'text-size': 12,
        'text-max-width': 9,
        'text-variable-anchor': ['top', 'bottom', 'center'],
        'text-radial-offset': 0.7,
      },
      paint: { 'text-color': theme.accent, 'text-halo-color': theme.surface, 'text-halo-width': 1.6 },
    },
    {
      id: 'stop-labels',
      type: 'symbol',
      source: 'stops',
      layout: {
        'text-field': ['get', 'label'],
        'text-font': font,
        'text-size': 12,
        'text-variable-anchor': ['bottom', 'top', 'left', 'right'],
        'text-radial-offset': 0.9,
      },
      paint: { 'text-color': theme.text, 'text-halo-color': theme.surface, 'text-halo-width': 1.6 },
    },
    {
      id: 'clusters',
      type: 'circle',
      source: 'clusters',
      paint: { 'circle-radius': clusterRadius, 'circle-color': theme.surface },
    },
    {
      id: 'cluster-rings',
      type: 'symbol',
      source: 'clusters',
      layout: {
        'icon-image': ['get', 'ring'],
        'icon-size': ringSize,
        'icon-allow-overlap': true,
        'icon-ignore-placement': true,
      },
    },
    {
      id: 'cluster-counts',
      type: 'symbol',
      source: 'clusters',
      layout: {
        'text-field': ['get', 'label'],
        'text-font': font,
        'text-size': 12,
        'text-allow-overlap': true,
      },
      paint: { 'text-color': theme.text },
    },
    {
      id: 'selected',
      type: 'circle',
      source: 'devices',
      filter: ['get', 'selected'],
      paint: {
        'circle-radius': 17,
        'circle-color': theme.text,
        'circle-opacity': 0.16,
        'circle-stroke-color': theme.text,
        'circle-stroke-width': 1.5,
      },
    },
    {
      id: 'devices',
      type: 'symbol',
      source: 'devices',
      layout: {
        'icon-image': ['get', 'icon'],
        'icon-rotate': ['get', 'heading'],
        'icon-rotation-alignment': 'map',
        'icon-allow-overlap': true,
        'icon-ignore-placement': true,
      },
      paint: { 'icon-opacity': ['case', ['get', 'faded'], 0.62, 1] },
    },
    {
      // Where names would overlap, the map shows fewer of them; a tooltip has the others.
      id: 'device-names',
      type: 'symbol',
      source: 'devices',
      minzoom: deviceNamesFromZoom,
      layout: {
        'text-field': shortName,
        'text-font': font,
        'text-size': 11.5,
        'text-max-width': 12,
        'text-variable-anchor': ['top', 'bottom', 'left', 'right'],
        'text-radial-offset': 1.1,
        'symbol-sort-key': ['case', ['get', 'selected'], 0, 1],
      },
      paint: { 'text-color': theme.text, 'text-halo-color': theme.surface, 'text-halo-width': 1.6 },
    },
    {
      id: 'device-status',
      type: 'symbol',
      source: 'devices',
      filter: ['in', ['get', 'status'], ['literal', ['error', 'disabled']]],
      layout: {
        'icon-image': ['concat', statusIcon, ['get', 'status']],
        'icon-offset': [9, -9],
        'icon-allow-overlap': true,
        'icon-ignore-placement': true,
      },
    },
  ]
  return {
    version: 8,
    sources: {
      ...(background?.sources ?? {
        countries: { type: 'geojson', data: countries, attribution: 'Outlines: Natural Earth, towns: GeoNames' },
      }),
      'country-names': geojson,
      trail: geojson,
      'trail-head': geojson,
      stops: geojson,
      zone: geojson,
      places: geojson,
      'place-names': geojson,
      route: geojson,
      'route-points': geojson,
      clusters: geojson,
      devices: geojson,
    },
    layers,
    ...(background?.glyphs && { glyphs: background.glyphs }),
    ...(background?.sprite && { sprite: background.sprite }),
  }
}
