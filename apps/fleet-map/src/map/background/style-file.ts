import type { LayerSpecification, SourceSpecification, StyleSpecification } from 'maplibre-gl'
import { type Background, background, localFont } from './background.ts'

/** The font of texts without one, by the style specification. */
const defaultFont = ['Open Sans Regular', 'Arial Unicode MS Regular']

/** Reads a MapLibre style. Its addresses may be relative to the style. Throws if it cannot be read. */
export async function readStyle(address: string): Promise<Background> {
  const response = await fetch(address, { credentials: 'omit' })
  if (!response.ok) throw new Error(`The style of the map returned status ${response.status}.`)
  const style = (await response.json()) as Partial<StyleSpecification>
  if (style.version !== 8 || !style.sources || !style.layers) throw new Error('The style of the map is not valid.')
  const { glyphs, sprite } = style
  const sources = Object.entries(style.sources).map(([name, source]) => [name, withAddresses(source, address)])
  return background(
    {
      sources: Object.fromEntries(sources),
      layers: style.layers,
      ...(glyphs && { glyphs: absolute(glyphs, address) }),
      ...(sprite && {
        sprite:
          typeof sprite === 'string'
            ? absolute(sprite, address)
            : sprite.map(({ id, url }) => ({ id, url: absolute(url, address) })),
      }),
    },
    glyphs ? fontOf(style.layers) : localFont,
  )
}

/** Returns an absolute address. Keeps placeholders such as {z}, which the URL standard escapes. */
const absolute = (address: string, base: string): string =>
  new URL(address, base).href.replaceAll('%7B', '{').replaceAll('%7D', '}')

function withAddresses(source: SourceSpecification, base: string): SourceSpecification {
  const found: Record<string, unknown> = { ...source }
  if (typeof found.url === 'string') found.url = absolute(found.url, base)
  if (source.type === 'geojson' && typeof source.data === 'string') found.data = absolute(source.data, base)
  if (Array.isArray(found.tiles)) found.tiles = found.tiles.map((tile: string) => absolute(tile, base))
  return found as SourceSpecification
}

/** Returns the first font that a layer of the style names, because its glyph server has that one. */
function fontOf(layers: readonly LayerSpecification[]): string[] {
  for (const layer of layers) {
    const font: unknown = layer.type === 'symbol' ? layer.layout?.['text-font'] : undefined
    const names = Array.isArray(font) && font[0] === 'literal' ? font[1] : font
    if (Array.isArray(names) && names.every((name) => typeof name === 'string')) return names
  }
  return defaultFont
}
