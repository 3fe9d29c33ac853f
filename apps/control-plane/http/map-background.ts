import { access } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { type MapSettings, tileTemplate, webOrigin, webUrl } from '#fleet/installation/map-settings'
import { openPmtiles, type PmtilesFile, servePmtiles } from './pmtiles-file.ts'

/** The environment variables of the map's background. */
export const mapVariables = {
  MAP_STYLE_URL: webUrl()
    .optional()
    .describe('A MapLibre style as the [background of the map](map-background.md). Default: land, borders and towns.'),
  MAP_STYLE_DARK_URL: webUrl().optional().describe('The style of the dark theme. Default: `MAP_STYLE_URL`.'),
  MAP_ORIGINS: z
    .string()
    .default('')
    .transform((list) => list.split(',').flatMap((item) => item.trim() || []))
    .pipe(z.array(webOrigin))
    .describe('Other origins from which the styles load tiles, fonts and images, separated by commas.'),
  MAP_PMTILES_FILE: z
    .string()
    .optional()
    .describe('A PMTiles file as the background of the map, which the control plane serves.'),
  MAP_SATELLITE_URL: tileTemplate()
    .optional()
    .describe(
      'Satellite images for the map, as the address of raster tiles with `{z}`, `{x}` and `{y}`. Default: off.',
    ),
  MAP_SATELLITE_ATTRIBUTION: z.string().max(500).default('').describe('The attribution of the satellite images.'),
  MAP_SATELLITE_MAX_ZOOM: z.coerce
    .number()
    .int()
    .min(0)
    .max(24)
    .default(19)
    .describe('The highest zoom of the satellite images.'),
}

type MapConfig = z.infer<z.ZodObject<typeof mapVariables>>

/** The file with land, borders and towns. The first start builds it while the service already runs. */
type WorldFile = { serve: PmtilesFile; exists: () => Promise<boolean> }

/** The background of the map: what the page is told, the origins that it loads from, and the files that it reads. */
export type MapBackground = {
  settings: {
    style?: string
    darkStyle?: string
    /** Relative to the page. */
    pmtiles?: string
    satellite?: { tiles: string; attribution: string; maxZoom: number }
  }
  origins: readonly string[]
  file: PmtilesFile | undefined
  /** What the page draws without other settings, or if those cannot be loaded. */
  world: WorldFile | undefined
}

/** The country outlines of the page, which need no request. */
export const outlinesOnly: MapBackground = { settings: {}, origins: [], file: undefined, world: undefined }

export const pmtilesPath = '/map/background.pmtiles'
export const worldPath = '/map/world.pmtiles'

/** What `apps/world-map` builds. */
const builtWorld = fileURLToPath(new URL('../../world-map/dist/world.pmtiles', import.meta.url))

/** What the environment sets. It wins over stored settings; `variables` has its names. */
export type MapEnvironment = Partial<Pick<MapSettings, 'background' | 'satellite'>> & {
  origins: readonly string[]
  variables: readonly string[]
}

/** Reads the environment. Throws an error with one sentence for settings that exclude each other, and for a file that is not usable. */
export async function mapEnvironment(config: MapConfig): Promise<MapEnvironment> {
  const { MAP_STYLE_URL: styleUrl, MAP_STYLE_DARK_URL: darkStyleUrl, MAP_PMTILES_FILE: file } = config
  const {
    MAP_SATELLITE_URL: tilesUrl,
    MAP_SATELLITE_ATTRIBUTION: attribution,
    MAP_SATELLITE_MAX_ZOOM: maxZoom,
  } = config
  if (styleUrl && file) throw invalid('MAP_STYLE_URL: cannot be combined with MAP_PMTILES_FILE')
  if (darkStyleUrl && !styleUrl) throw invalid('MAP_STYLE_DARK_URL: needs MAP_STYLE_URL')
  if (file !== undefined) await openPmtiles(file).catch((error) => Promise.reject(unusable(error)))
  const deciding = ['MAP_STYLE_URL', 'MAP_STYLE_DARK_URL', 'MAP_PMTILES_FILE', 'MAP_SATELLITE_URL'] as const
  return {
    ...(styleUrl && { background: { kind: 'style', styleUrl, ...(darkStyleUrl && { darkStyleUrl }) } }),
    ...(file !== undefined && { background: { kind: 'pmtiles', file } }),
    ...(tilesUrl && { satellite: { tilesUrl, attribution, maxZoom } }),
    origins: config.MAP_ORIGINS,
    variables: deciding.filter((name) => config[name] !== undefined),
  }
}

/** The settings in effect. */
export const effectiveSettings = (
  { background, satellite, origins }: MapEnvironment,
  stored: MapSettings,
): MapSettings => ({
  background: background ?? stored.background,
  satellite: satellite ?? stored.satellite,
  origins: [...new Set([...origins, ...stored.origins])],
})

/** Opens a background. `world`: the path of the map of the world. Throws for a PMTiles file that is not usable. */
export async function openMapBackground(
  { background, satellite, origins }: MapSettings,
  world = builtWorld,
): Promise<MapBackground> {
  const { styleUrl: style, darkStyleUrl: darkStyle } = background.kind === 'style' ? background : {}
  const file = background.kind === 'pmtiles' ? await openPmtiles(background.file) : undefined
  const tiles = satellite?.tilesUrl
  const addresses = [style, darkStyle, tiles].flatMap((url) => (url ? new URL(url).origin : []))
  return {
    settings: {
      ...(style && { style }),
      ...(darkStyle && { darkStyle }),
      ...(file && { pmtiles: `.${pmtilesPath}` }),
      ...(satellite && {
        satellite: { tiles: satellite.tilesUrl, attribution: satellite.attribution, maxZoom: satellite.maxZoom },
      }),
    },
    origins: [...new Set([...addresses, ...origins])],
    file,
    world: { serve: servePmtiles(world), exists: () => isReadable(world) },
  }
}

const isReadable = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  )

const invalid = (sentence: string) => new Error(`Invalid configuration. ${sentence}`)

const unusable = (error: unknown) => invalid(`MAP_PMTILES_FILE: ${error instanceof Error ? error.message : error}`)
