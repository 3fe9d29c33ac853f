import type { LayerSpecification, SourceSpecification, StyleSpecification } from 'maplibre-gl'

/** What the map draws below the fleet instead of country outlines. Ids of sources and layers begin with `background/`. */
export type Background = {
  sources: Record<string, SourceSpecification>
  /** From bottom to top. */
  layers: LayerSpecification[]
  /** Layers with names, which lie above coverage so that they stay readable. */
  labels: LayerSpecification[]
  /** The font of the map's own texts: one that the glyph server of the style has. */
  font: string[]
  glyphs?: StyleSpecification['glyphs']
  sprite?: StyleSpecification['sprite']
}

/** The font of texts that the browser draws, without a glyph server. */
export const localFont = ['sans-serif']

const prefix = 'background/'

/** The layer with the names of towns in the map of the world. */
export const townLayer = `${prefix}towns`

/** Returns layers and sources with ids that cannot be those of the fleet. */
export function background(
  { sources, layers, ...style }: Pick<StyleSpecification, 'sources' | 'layers' | 'glyphs' | 'sprite'>,
  font: string[],
): Background {
  const named = layers.map((layer) => {
    const id = prefix + layer.id
    return 'source' in layer ? { ...layer, id, source: prefix + layer.source } : { ...layer, id }
  }) as LayerSpecification[]
  return {
    ...style,
    sources: Object.fromEntries(Object.entries(sources).map(([name, source]) => [prefix + name, source])),
    layers: named.filter(({ type }) => type !== 'symbol'),
    labels: named.filter(({ type }) => type === 'symbol'),
    font,
  }
}
