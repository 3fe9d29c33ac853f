/** The background of the map: what the operator configured, and what the service has of its own. */
export type BackgroundSettings = {
  /** Addresses of MapLibre styles. */
  style?: string
  darkStyle?: string
  /** The address of a PMTiles file, relative to the page. */
  pmtiles?: string
  /** The address of the map of the world, relative to the page. Missing until it is built; then the map shows country outlines. */
  world?: string
  satellite?: { tiles: string; attribution: string; maxZoom: number }
}

const written = document.querySelector<HTMLMetaElement>('meta[name=map-background]')?.content

export const backgroundSettings = JSON.parse(written || '{}') as BackgroundSettings

export type BackgroundKind = 'map' | 'satellite' | 'world'

/** Whether the service has this kind of background. */
export function hasBackground(kind: BackgroundKind): boolean {
  const { style, pmtiles, satellite, world } = backgroundSettings
  if (kind === 'satellite') return satellite !== undefined
  if (kind === 'world') return world !== undefined
  return style !== undefined || pmtiles !== undefined
}
