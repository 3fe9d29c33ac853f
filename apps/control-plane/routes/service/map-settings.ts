import { z } from 'zod'
import { badRequest } from '#core/errors'
import {
  type MapSettings,
  mapSettingsSchema,
  readMapSettings,
  storeMapSettings,
} from '#fleet/installation/map-settings'
import { effectiveSettings } from '../../http/map-background.ts'
import { openPmtiles } from '../../http/pmtiles-file.ts'
import { ok, type Route, type RouteInput, route } from '../../http/route.ts'

const path = '/map-settings'
const tag = 'Operations'

const settings = mapSettingsSchema.meta({ id: 'MapSettings' })

const schema = z
  .object({
    stored: settings,
    effective: settings.describe('What the page uses: the environment of the control plane, else what is stored.'),
    environment: z
      .array(z.string())
      .describe('The environment variables that replace stored settings, such as `MAP_STYLE_URL`.'),
  })
  .meta({ id: 'InstalledMapSettings' })

async function view({ ctx, services }: RouteInput<unknown, unknown, unknown>) {
  const { environment } = services.mapBackgrounds
  const stored = await readMapSettings(ctx.pool)
  return ok({ stored, effective: effectiveSettings(environment, stored), environment: [...environment.variables] })
}

/** Throws 400 for a PMTiles file that this server cannot read. */
async function requireUsable({ background }: MapSettings): Promise<void> {
  if (background.kind !== 'pmtiles') return
  await openPmtiles(background.file).catch((error: unknown) => {
    const detail = `The server cannot use this file: ${error instanceof Error ? error.message : error}.`
    throw badRequest(detail, [{ pointer: '/background/file', code: 'unusable_file', detail }])
  })
}

export const mapSettingsRoutes: Route[] = [
  route({
    method: 'get',
    path,
    summary: 'Get the background of the map',
    tag,
    access: 'platform',
    answers: { 200: { description: 'The settings of the installation.', schema } },
    handle: view,
  }),
  route({
    method: 'put',
    path,
    summary: 'Set the background of the map',
    description:
      'Sets what the page draws below the fleet, for the whole installation. Pages that are opened or reloaded a second later show it. Whoever opens the map loads its tiles from the named servers, which learn the network address of the reader and the area on the screen.',
    tag,
    access: 'platform',
    body: mapSettingsSchema,
    answers: { 200: { description: 'The settings of the installation.', schema } },
    example: {
      body: {
        background: { kind: 'style', styleUrl: 'https://tiles.openfreemap.org/styles/liberty' },
        satellite: null,
        origins: [],
      },
    },
    handle: async (input) => {
      await requireUsable(input.body)
      await storeMapSettings(input.ctx, input.body)
      await input.services.mapBackgrounds.renew()
      return view(input)
    },
  }),
]
