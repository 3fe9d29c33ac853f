import { z } from 'zod'
import { requirePlatform } from '#fleet/access/principal'
import { auditCaller } from '#fleet/audit/record'
import type { FleetContext } from '#fleet/context'
import { type Queryable, transaction } from '#postgres/pool'

export const webUrl = () =>
  z
    .url({ protocol: /^https?$/, error: 'must be an http or https address' })
    .max(2_000, 'must have at most 2,000 characters')

export const tileTemplate = () =>
  webUrl().refine((url) => ['{z}', '{x}', '{y}'].every((part) => url.includes(part)), 'must contain {z}, {x} and {y}')

/** One source of a Content-Security-Policy: `https://tiles.example.com`, or `https://*.example.com` for subdomains. */
export const webOrigin = z
  .string()
  .max(300)
  .regex(
    /^https?:\/\/(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,5})?$/i,
    'must be origins such as https://tiles.example.com',
  )

/** The background of the map, for the whole installation. */
export const mapSettingsSchema = z.strictObject({
  background: z
    .discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('offline') }),
      z.strictObject({
        kind: z.literal('style'),
        styleUrl: webUrl().describe('A MapLibre style.'),
        darkStyleUrl: webUrl().optional().describe('The style of the dark theme. Default: `styleUrl`.'),
      }),
      z.strictObject({
        kind: z.literal('pmtiles'),
        file: z.string().min(1).max(1_000).describe('The path of a PMTiles file on the servers of the control plane.'),
      }),
    ])
    .describe('`offline` is the map of the world, which needs no other server.'),
  satellite: z
    .strictObject({
      tilesUrl: tileTemplate().describe('The address of raster tiles with `{z}`, `{x}` and `{y}`.'),
      attribution: z.string().max(500).default(''),
      maxZoom: z.int().min(0).max(24).default(19),
    })
    .nullable()
    .default(null)
    .describe('Satellite images that a reader can choose; null for none.'),
  origins: z
    .array(webOrigin)
    .max(20)
    .default([])
    .describe('Other origins from which the styles load tiles, fonts and images.'),
})

export type MapSettings = z.infer<typeof mapSettingsSchema>

const offlineMap: MapSettings = { background: { kind: 'offline' }, satellite: null, origins: [] }

/** The stored settings; the map of the world if nothing is stored. */
export async function readMapSettings(db: Queryable): Promise<MapSettings> {
  const { rows } = await db.query<{ settings: MapSettings }>('SELECT settings FROM map_settings')
  return rows[0]?.settings ?? offlineMap
}

/** Stores the settings. Platform only. */
export async function storeMapSettings(ctx: FleetContext, settings: MapSettings): Promise<void> {
  requirePlatform(ctx.principal)
  await transaction(ctx.pool, async (connection) => {
    await connection.query(
      `INSERT INTO map_settings (settings) VALUES ($1)
       ON CONFLICT (only_row) DO UPDATE SET settings = excluded.settings, updated_at = now()`,
      [settings],
    )
    const { kind } = settings.background
    const detail = { background: kind, satellite: settings.satellite !== null }
    await auditCaller(ctx, connection, {
      organizationId: null,
      action: 'map_settings.changed',
      subjectId: 'map',
      detail,
    })
  })
}
