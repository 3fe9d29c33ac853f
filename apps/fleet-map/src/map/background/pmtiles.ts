import { type Flavor, layers, namedFlavor } from '@protomaps/basemaps'
import type { LayerSpecification } from 'maplibre-gl'
import { TileType } from 'pmtiles'
import type { Theme } from '../../state/theme.ts'
import { readTheme } from '../style.ts'
import { archiveAt } from './archives.ts'
import { type Background, background, localFont } from './background.ts'

const source = 'streets'
const neededLayers = ['earth', 'roads', 'water']
/** These need a sprite or show every house, and the map shows devices. */
const leftOut = ['address_label', 'pois', 'roads_oneway', 'roads_shields']

/**
 * Reads a PMTiles file: images, or vector tiles with the layers of Protomaps. The browser draws the names, so they need no
 * glyph server. Throws if the file cannot be read or has other layers.
 */
export async function readPmtiles(address: string, theme: Theme): Promise<Background> {
  const archive = archiveAt(address)
  const { tileType } = await archive.getHeader()
  const url = `pmtiles://${address}`
  if (tileType !== TileType.Mvt)
    return background(
      {
        sources: { [source]: { type: 'raster', url, tileSize: 256 } },
        layers: [{ id: source, type: 'raster', source }],
      },
      localFont,
    )
  const metadata = (await archive.getMetadata()) as { vector_layers?: { id: string }[] }
  const present = new Set(metadata.vector_layers?.map(({ id }) => id))
  if (!neededLayers.every((id) => present.has(id)))
    throw new Error('The PMTiles file does not have the vector layers of Protomaps.')
  return background(
    {
      sources: { [source]: { type: 'vector', url } },
      layers: layers(source, flavorOf(theme), { lang: navigator.language.split('-')[0] ?? 'en' })
        .filter((layer) => !leftOut.includes(layer.id) && isIn(present, layer))
        .map(withLocalFont),
    },
    localFont,
  )
}

/** Whether the file has what a layer draws. A file can leave out layers, such as buildings. */
const isIn = (present: ReadonlySet<string>, layer: LayerSpecification): boolean =>
  !('source-layer' in layer) || layer['source-layer'] === undefined || present.has(layer['source-layer'])

/** Land of the light theme: darker than that of the outlines, so that white roads are visible. */
const lightLand = '#e9ecea'

/** The colours of Protomaps, with land, water and names as in the rest of the page. */
function flavorOf(theme: Theme): Flavor {
  const { water, label, ...page } = readTheme()
  const land = theme === 'light' ? lightLand : page.land
  const names = { city_label: label, country_label: label, roads_label_major: label, subplace_label: label }
  const halos = { city_label_halo: land, roads_label_major_halo: land, subplace_label_halo: land }
  return {
    ...namedFlavor(theme),
    ...{ ...names, state_label: label, ocean_label: label, roads_label_minor: label },
    ...{ ...halos, state_label_halo: land, roads_label_minor_halo: land },
    ...{ background: water, earth: land, water },
  }
}

/** Removes icons, which would need a sprite, and lets the browser draw the text. */
function withLocalFont(layer: LayerSpecification): LayerSpecification {
  if (layer.type !== 'symbol') return layer
  const { 'icon-image': _icon, 'icon-size': _size, ...layout } = layer.layout ?? {}
  return { ...layer, layout: { ...layout, 'text-font': localFont } }
}
