import type { Theme } from '../../state/theme.ts'
import { type Background, background, localFont } from './background.ts'
import { type BackgroundKind, type BackgroundSettings, backgroundSettings } from './background-settings.ts'
import { readPmtiles } from './pmtiles.ts'
import { readStyle } from './style-file.ts'

/** Reads a configured background. Throws if it cannot be read. */
export async function readBackground(kind: BackgroundKind, theme: Theme): Promise<Background> {
  const { style, darkStyle, pmtiles, satellite } = backgroundSettings
  if (kind === 'satellite' && satellite) return satelliteImages(satellite)
  if (style) return readStyle(theme === 'dark' ? (darkStyle ?? style) : style)
  if (pmtiles) return readPmtiles(new URL(pmtiles, document.baseURI).href, theme)
  throw new Error('No background is configured.')
}

const satelliteImages = ({ tiles, attribution, maxZoom }: NonNullable<BackgroundSettings['satellite']>): Background =>
  background(
    {
      sources: { satellite: { type: 'raster', tiles: [tiles], tileSize: 256, maxzoom: maxZoom, attribution } },
      layers: [{ id: 'satellite', type: 'raster', source: 'satellite' }],
    },
    localFont,
  )
