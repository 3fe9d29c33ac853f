import { z } from 'zod'
import { maxTileZoom } from '#fleet-map/tiles/tile-math'
import { boundingBoxOut } from '../../http/schemas.ts'
import { windowSchema } from './fleet-schemas.ts'

const coordinate = z.coerce
  .number()
  .int()
  .min(0)
  .max(2 ** maxTileZoom - 1)
const withoutSuffix = (value: unknown) => (typeof value === 'string' ? value.replace(/\.mvt$/, '') : value)
const digits = /^\d{1,5}(\.mvt)?$/
const digitsOnly = (value: unknown) => (typeof value === 'string' && digits.test(value) ? withoutSuffix(value) : NaN)

/** Zoom, column and row in the XYZ scheme, with `.mvt` after the row. */
export const tileParams = z
  .object({
    z: z.preprocess(digitsOnly, z.coerce.number().int().min(0).max(maxTileZoom)),
    x: z.preprocess(digitsOnly, coordinate),
    y: z.preprocess(digitsOnly, coordinate),
  })
  .refine((tile) => tile.x < 2 ** tile.z, { path: ['x'] })
  .refine((tile) => tile.y < 2 ** tile.z, { path: ['y'] })

export const tileBytesSchema = z.string().meta({
  id: 'VectorTile',
  format: 'binary',
  description: 'A Mapbox Vector Tile 2.1 with extent 4096 and the layers `devices`, `coverage` and `dwells`.',
})

export const tileJsonSchema = z
  .object({
    tilejson: z.literal('3.0.0'),
    name: z.string(),
    description: z.string(),
    scheme: z.literal('xyz'),
    tiles: z.array(z.string()).describe('Address template of the tiles, with the query of this request.'),
    minzoom: z.int(),
    maxzoom: z.int(),
    bounds: boundingBoxOut().describe('west, south, east, north.'),
    vector_layers: z.array(
      z.object({
        id: z.string(),
        description: z.string(),
        minzoom: z.int(),
        maxzoom: z.int(),
        fields: z.record(z.string(), z.enum(['String', 'Number', 'Boolean'])).describe('The type of each property.'),
      }),
    ),
    window: windowSchema,
    fleet: z
      .object({
        devices: z.int().describe('Devices with a position.'),
        bounds: boundingBoxOut()
          .nullable()
          .describe(
            'west, south, east, north: the smallest box with all positions, at most a minute old. west > east if it crosses the antimeridian. Null without devices.',
          ),
        operators: z
          .array(z.object({ plmn: z.string(), name: z.string() }))
          .describe('Operators of recent last signals, at most 200.'),
      })
      .nullable()
      .describe('The devices of the query. Null without the layer `devices`. Not part of TileJSON.'),
  })
  .meta({ id: 'TileJson', description: 'TileJSON 3.0.0.' })
