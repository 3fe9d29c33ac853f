import type { Feature, FeatureCollection } from 'geojson'
import type { GeoJSONSource, Map as MapLibre } from 'maplibre-gl'
import { collection } from './features.ts'
import { iconPixelRatio, labelImage, markerImages } from './icons.ts'
import { countryLabels } from './outlines.ts'
import { ringImage } from './ring.ts'
import { readTheme } from './style.ts'

export type MapSources = {
  /** Draws these features in place of those of the source. */
  put: (source: string, features: Feature[]) => void
  featuresOf: (source: string) => readonly Feature[]
  /** True once features of the source are drawn. */
  isDrawn: (source: string) => boolean
  /** Fills the sources and adds the images again, after the style of the map was replaced. */
  restore: () => void
}

/** Holds the data of the map's GeoJSON sources, because a change of the theme replaces the style with its sources. */
export function openMapSources(map: MapLibre): MapSources {
  const held: Record<string, FeatureCollection> = {}
  const put = (source: string, features: Feature[]) => {
    const data = collection(features)
    held[source] = data
    fill(source, data)
  }
  const fill = (source: string, data: FeatureCollection) =>
    (map.getSource(source) as GeoJSONSource | undefined)?.setData(data)
  map.setMissingStyleImageResolver((id) => {
    const image = ringImage(id, readTheme().outline, iconPixelRatio)
    if (image) map.addImage(id, image, { pixelRatio: iconPixelRatio })
  })
  return {
    put,
    featuresOf: (source) => held[source]?.features ?? [],
    // While the style is replaced, it has no sources.
    isDrawn: (source) =>
      (held[source]?.features.length ?? 0) > 0 && map.getSource(source) !== undefined && map.isSourceLoaded(source),
    restore: () => {
      put('country-names', addImages(map))
      for (const [source, data] of Object.entries(held)) fill(source, data)
    },
  }
}

/** Adds the images of the theme. Returns the names of the countries, which are images too. */
function addImages(map: MapLibre): Feature[] {
  const theme = readTheme()
  for (const [name, image] of markerImages(theme))
    if (!map.hasImage(name)) map.addImage(name, image, { pixelRatio: iconPixelRatio })
  return countryLabels.map(({ name, lon, lat }, order) => {
    const image = `name-${name}`
    if (!map.hasImage(image))
      map.addImage(image, labelImage(name, theme.label, theme.land), { pixelRatio: iconPixelRatio })
    return {
      type: 'Feature',
      properties: { image, order },
      geometry: { type: 'Point', coordinates: [lon, lat] },
    }
  })
}
