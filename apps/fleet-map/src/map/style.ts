import type {
  ExpressionSpecification,
  GeoJSONSourceSpecification,
  LayerSpecification,
  StyleSpecification,
} from 'maplibre-gl'
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

/** Grows with the number of devices; `scale` is the size of one pixel. */
const byCount = (scale: number): ExpressionSpecification => [
  'interpolate',
  ['linear'],
  ['log10', ['get', 'count']],
  ...[0.6, 14 * scale, 2, 20 * scale, 5, 36 * scale],
]
const clusterRadius = byCount(1)
const ringSize = byCount(1 / ringRadiusPx)

/** The lowest layer above coverage and dwells. */
export const lowestTrailLayer = 'trail-casing'

/** Returns the style: layers from bottom to top, and sources that are empty except for the outlines. */
export function mapStyle(theme: MapTheme, countries: GeoJSON.FeatureCollection): StyleSpecification {
  const layers: LayerSpecification[] = [
    { id: 'water', type: 'background', paint: { 'background-color': theme.water } },
    { id: 'land', type: 'fill', source: 'countries', paint: { 'fill-color': theme.land } },
    {
      id: 'borders',
      type: 'line',
      source: 'countries',
      paint: { 'line-color': theme.border, 'line-width': ['interpolate', ['linear'], ['zoom'], 2, 0.5, 8, 1.2] },
    },
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
      id: 'country-names',
      type: 'symbol',
      source: 'country-names',
      minzoom: 2.2,
      maxzoom: 7,
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
        'text-font': ['sans-serif'],
        'text-size': 12,
      },
      paint: { 'text-color': theme.text },
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
        'text-font': ['sans-serif'],
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
      countries: { type: 'geojson', data: countries, attribution: 'Outlines: Natural Earth' },
      'country-names': geojson,
      trail: geojson,
      'trail-head': geojson,
      zone: geojson,
      places: geojson,
      route: geojson,
      'route-points': geojson,
      clusters: geojson,
      devices: geojson,
    },
    layers,
  }
}
