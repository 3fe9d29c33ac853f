import type { FleetContext } from '#fleet/context'
import { findDevice } from '#fleet/devices/device'
import { ownershipOf } from '#fleet/devices/ownership'
import { type Page, type PageRequest, pageBy } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import { mappedOrganizations } from '#fleet-map/access'
import {
  type ComparedQuery,
  comparedDevices,
  comparisonFeatures,
  type LastComparison,
  lastComparison,
} from '#fleet-map/last-comparison'
import { queryEntities } from '#postgres/entities'
import type { Reader } from '#questdb/copies/readers'
import type { QuestdbSql } from '#questdb/server/sql'
import { h3OfLong } from '#questdb/votes/h3-index'
import type { OrganizationVotes } from '#questdb/votes/organization-votes'
import { cellsOfDevice, cellsWithin, levelsOfCells, type RadioLevel, servingCellOf } from '#questdb/votes/radio-cells'
import { compareInCell } from '#telemetry/radio-health/compared-cells'
import type { RadioStatus } from '#telemetry/radio-health/radio-health'
import { healthColumns, type StoredHealth } from './health.ts'

type HealthQuery = ComparedQuery & { status?: readonly RadioStatus[] | undefined }

/** The cells in which a device has most votes; those of them with the greatest differences are returned. */
const readCells = 500
const shownCells = 100
const hourMs = 3_600_000
/** Votes of all devices in the cells that one request compares. A depot of a large fleet has millions. */
const maxVotes = 200_000

type Ordered = StoredHealth & { severity: number; offsetOrder: number; id: string }

/** The radios of the caller's organizations, worst first (`fleet:read`). Throws 404 and 403. */
export async function listRadioHealth(
  ctx: FleetContext,
  query: HealthQuery,
  { limit, after }: PageRequest,
): Promise<Page<StoredHealth> & LastComparison> {
  const { organizationIds, conditions, values } = await comparedDevices(ctx, query)
  if (organizationIds.length === 0) return { items: [], nextAfter: null, asOf: null, window: null }
  const [severity, offsetOrder, id] = after === undefined ? [null, null, null] : after.split('|')
  return tenantTransaction(ctx, organizationIds, async (connection) => {
    const rows = await queryEntities<Ordered>(
      connection,
      `SELECT ${healthColumns}, h.severity, h.offset_order AS "offsetOrder", h.id::text AS id
       FROM device_radio_health h JOIN device d ON d.id = h.device_id AND d.organization_id = h.organization_id
       JOIN radio_health_run run ON run.organization_id = h.organization_id
       WHERE h.organization_id = ANY ($organizationIds::uuid[]) AND ${conditions}
         AND ($statuses::text[] IS NULL OR h.status = ANY ($statuses::text[]))
         AND ($severity::smallint IS NULL
           OR (h.severity, h.offset_order, h.id) > ($severity::smallint, $offsetOrder::float8, $id::bigint))
       ORDER BY h.severity, h.offset_order, h.id LIMIT $limit::int`,
      { ...values, statuses: query.status ?? null, limit: limit + 1, severity, offsetOrder, id },
    )
    const page = pageBy(
      rows,
      limit,
      ({ severity: _severity, offsetOrder: _order, id: _id, ...health }): StoredHealth => health,
      (row) => `${row.severity}|${row.offsetOrder}|${row.id}`,
    )
    return { ...page, ...(await lastComparison(connection, organizationIds)) }
  })
}

/** The radios of a device with the cells in which they were compared (`fleet:read`). Throws 404 and 403. */
export async function readDeviceRadioHealth(ctx: FleetContext, reader: Reader, deviceId: string) {
  const device = await findDevice(ctx, ctx.pool, deviceId, 'fleet:read')
  const { organizationId } = device
  await mappedOrganizations(ctx, organizationId, comparisonFeatures)
  const { radios, run } = await tenantTransaction(ctx, [organizationId], async (connection) => ({
    radios: await queryEntities<StoredHealth>(
      connection,
      `SELECT ${healthColumns} FROM device_radio_health h JOIN device d ON d.id = h.device_id
       WHERE h.organization_id = $organizationId AND h.device_id = $deviceId ORDER BY h.severity, h.offset_order, h.id`,
      { organizationId, deviceId: device.id },
    ),
    run: await lastComparison(connection, [organizationId]),
  }))
  const { questdb, heavy } = reader
  const { window } = run
  const votes = window && { organizationId, fromMs: Date.parse(window.from), toMs: Date.parse(window.to) }
  // Without a result there is nothing that cells explain, also of a device that came from another organization.
  const cells = votes && radios.length > 0 ? await heavy(() => comparedCells(ctx, questdb, votes, device.id)) : []
  const cellsOf = (modem: string | null) =>
    cells
      .filter((cell) => cell.modem === modem)
      .slice(0, shownCells)
      .map(({ modem: _, ...cell }) => cell)
  return {
    ...{ deviceId: device.id, ...run },
    radios: radios.map((radio) => ({ ...radio, cells: cellsOf(radio.modem) })),
  }
}

/** The shared cells of a device's radios, those in which they are weakest first. */
async function comparedCells(
  ctx: Pick<FleetContext, 'pool'>,
  questdb: QuestdbSql,
  votes: OrganizationVotes,
  deviceId: string,
) {
  const own = await cellsOfDevice(questdb, votes, { deviceId, limit: readCells })
  const h3 = await cellsWithin(questdb, votes, { h3: own, maxVotes })
  const levels = await ofPresentDevices(ctx, votes, await levelsOfCells(questdb, votes, h3))
  const byCell = Map.groupBy(levels, (level) => `${level.cell} ${level.rat} ${level.servingCell}`)
  const compared = [...byCell.values()].flatMap((ofCell) =>
    compareInCell(ofCell, deviceId).map(({ rsrpDbm, neighboursDbm, ...others }) => ({
      ...{
        h3: h3OfLong(ofCell[0]?.cell ?? '0'),
        rat: ofCell[0]?.rat ?? '',
        ...servingCellOf(ofCell[0]?.servingCell ?? ''),
      },
      ...{ rsrpDbm, neighboursDbm, differenceDb: rsrpDbm - neighboursDbm, ...others },
    })),
  )
  return compared.sort((a, b) => a.differenceDb - b.differenceDb || (a.h3 < b.h3 ? -1 : 1))
}

/** The levels of devices that the organization has, from the time since their last transfer to it. As the comparison reads them. */
async function ofPresentDevices(
  ctx: Pick<FleetContext, 'pool'>,
  { organizationId }: OrganizationVotes,
  levels: readonly RadioLevel[],
): Promise<RadioLevel[]> {
  const owned = await ownershipOf(
    ctx.pool,
    organizationId,
    levels.map(({ deviceId }) => deviceId),
  )
  const sinceMs = new Map(
    [...owned].flatMap(([deviceId, intervals]) => {
      const present = intervals.find(({ toMs }) => toMs === Number.POSITIVE_INFINITY)
      return present ? [[deviceId, present.fromMs] as const] : []
    }),
  )
  return levels.filter(({ deviceId, hour }) => hour * hourMs >= (sinceMs.get(deviceId) ?? Number.POSITIVE_INFINITY))
}
