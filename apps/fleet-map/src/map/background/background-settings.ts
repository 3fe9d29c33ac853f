/** The background of the map as the operator configured it. Without settings, the map shows country outlines. */
export type BackgroundSettings = {
  /** Addresses of MapLibre styles. */
  style?: string
  darkStyle?: string
  /** The address of a PMTiles file, relative to the page. */
  pmtiles?: string
  satellite?: { tiles: string; attribution: string; maxZoom: number }
}

const written = document.querySelector<HTMLMetaElement>('meta[name=map-background]')?.content

export const backgroundSettings = JSON.parse(written || '{}') as BackgroundSettings

export type BackgroundKind = 'map' | 'satellite'

/** Whether the operator configured this kind of background. */
export const hasBackground = (kind: BackgroundKind): boolean =>
  kind === 'satellite'
    ? backgroundSettings.satellite !== undefined
    : backgroundSettings.style !== undefined || backgroundSettings.pmtiles !== undefined
