import type { MapSettings } from '../../api/schemas.ts'

/** What a platform administrator chooses for the background of the map, as the form has it. */
export type MapChoice = {
  background: 'offline' | 'openfreemap' | 'style' | 'pmtiles'
  styleUrl: string
  darkStyleUrl: string
  origins: string
  file: string
  hasSatellite: boolean
  tilesUrl: string
  attribution: string
  maxZoom: string
}

/** Free vector tiles of the world without a key or a registration. */
const openFreeMap = {
  styleUrl: 'https://tiles.openfreemap.org/styles/liberty',
  darkStyleUrl: 'https://tiles.openfreemap.org/styles/dark',
}

export function choiceOf({ background, satellite, origins }: MapSettings): MapChoice {
  const isOpenFreeMap = background.kind === 'style' && background.styleUrl === openFreeMap.styleUrl
  return {
    background: isOpenFreeMap ? 'openfreemap' : background.kind,
    styleUrl: background.kind === 'style' && !isOpenFreeMap ? background.styleUrl : '',
    darkStyleUrl: background.kind === 'style' && !isOpenFreeMap ? (background.darkStyleUrl ?? '') : '',
    origins: origins.join(', '),
    file: background.kind === 'pmtiles' ? background.file : '',
    hasSatellite: satellite !== null,
    tilesUrl: satellite?.tilesUrl ?? '',
    attribution: satellite?.attribution ?? '',
    maxZoom: String(satellite?.maxZoom ?? 19),
  }
}

export function settingsOf(choice: MapChoice): MapSettings {
  const { hasSatellite, tilesUrl, attribution, maxZoom } = choice
  return {
    background: backgroundOf(choice),
    satellite: hasSatellite
      ? { tilesUrl: tilesUrl.trim(), attribution: attribution.trim(), maxZoom: Number(maxZoom) }
      : null,
    origins: choice.background === 'style' ? choice.origins.split(',').flatMap((origin) => origin.trim() || []) : [],
  }
}

function backgroundOf({ background, styleUrl, darkStyleUrl, file }: MapChoice): MapSettings['background'] {
  if (background === 'offline') return { kind: 'offline' }
  if (background === 'pmtiles') return { kind: 'pmtiles', file: file.trim() }
  if (background === 'openfreemap') return { kind: 'style', ...openFreeMap }
  const dark = darkStyleUrl.trim()
  return { kind: 'style', styleUrl: styleUrl.trim(), ...(dark && { darkStyleUrl: dark }) }
}

/** Says who learns which area a reader looks at. */
export function whoSees({ background, satellite, origins }: MapSettings): string {
  const streets = background.kind === 'style' ? hostsOf([background.styleUrl, background.darkStyleUrl, ...origins]) : []
  const images = satellite ? hostsOf([satellite.tilesUrl]) : []
  const says = (hosts: string[], who: string) =>
    hosts.length === 0
      ? []
      : [
          `${who} loads it from ${hosts.join(', ')}, which learns the network address of the reader and the area on the screen.`,
        ]
  const sentences = [...says(streets, 'Whoever opens the map'), ...says(images, 'Whoever chooses the satellite images')]
  return sentences.join(' ') || 'No other server learns which area a reader looks at.'
}

const hostsOf = (urls: readonly (string | undefined)[]): string[] => [
  ...new Set(urls.flatMap((url) => (url && URL.canParse(url) ? new URL(url).host : []))),
]
