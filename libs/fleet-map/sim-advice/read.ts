import type { FleetContext } from '#fleet/context'
import { type Page, type PageRequest, pageBy } from '#fleet/paging'
import { tenantTransaction } from '#fleet/tenant'
import {
  type ComparedDevices,
  type ComparedQuery,
  comparedDevices,
  type LastComparison,
  lastComparison,
} from '#fleet-map/last-comparison'
import { queryEntities, queryEntity } from '#postgres/entities'
import type { Connection } from '#postgres/pool'
import { adviceColumns, type SimTotal, type StoredAdvice } from './stored.ts'

type Ordered = StoredAdvice & { gainOrder: number; id: string }

const selected = (conditions: string) => `
  FROM device_sim_advice a JOIN device d ON d.id = a.device_id AND d.organization_id = a.organization_id
  JOIN radio_health_run run ON run.organization_id = a.organization_id
  WHERE a.organization_id = ANY ($organizationIds::uuid[]) AND ${conditions}
    AND ($deviceIds::uuid[] IS NULL OR a.device_id = ANY ($deviceIds::uuid[]))`

type AdviceQuery = ComparedQuery & { deviceId?: readonly string[] | undefined }

/**
 * The SIMs of the caller's organizations, the greatest gain first (`fleet:read`). The first page has the total of all that match.
 * Throws 404 and 403.
 */
export async function listSimAdvice(
  ctx: FleetContext,
  query: AdviceQuery,
  { limit, after }: PageRequest,
): Promise<Page<StoredAdvice> & LastComparison & { total: SimTotal | null }> {
  const devices = await comparedDevices(ctx, query)
  const { organizationIds, conditions } = devices
  const [gainOrder, id] = after === undefined ? [null, null] : after.split('|')
  if (organizationIds.length === 0) return { items: [], nextAfter: null, total: null, asOf: null, window: null }
  const values = { ...devices.values, deviceIds: query.deviceId ?? null }
  return tenantTransaction(ctx, organizationIds, async (connection) => {
    const rows = await queryEntities<Ordered>(
      connection,
      `SELECT ${adviceColumns}, a.gain_order AS "gainOrder", a.id::text AS id ${selected(conditions)}
         AND ($gainOrder::float8 IS NULL OR (a.gain_order, a.id) > ($gainOrder::float8, $id::bigint))
       ORDER BY a.gain_order, a.id LIMIT $limit::int`,
      { ...values, limit: limit + 1, gainOrder, id },
    )
    const page = pageBy(
      rows,
      limit,
      ({ gainOrder: _order, id: _id, ...advice }): StoredAdvice => advice,
      (row) => `${row.gainOrder}|${row.id}`,
    )
    const total = after === undefined ? await totalOf(connection, { ...devices, values }) : null
    return { ...page, total, ...(await lastComparison(connection, organizationIds)) }
  })
}

/** A SIM counts as today with operators that are not known in its places, and with its own. */
async function totalOf(
  connection: Connection,
  { conditions, values }: Pick<ComparedDevices, 'conditions' | 'values'>,
): Promise<SimTotal> {
  const today = await queryEntity<Omit<SimTotal, 'operators'>>(
    connection,
    `SELECT count(*)::int AS sims, coalesce(round(sum(a.no_service_minutes_per_day)::numeric, 2)::float8, 0) AS "noServiceMinutesPerDay"
     ${selected(conditions)}`,
    values,
  )
  const operators = await queryEntities<{ plmn: string; change: number; knownSims: number }>(
    connection,
    `SELECT plmn, round(sum(change)::numeric, 2)::float8 AS change, count(*)::int AS "knownSims" FROM (
       SELECT other.plmn, other."noServiceMinutesPerDay" - a.no_service_minutes_per_day AS change
       FROM (SELECT a.* ${selected(conditions)}) a,
         jsonb_to_recordset(a.operators) AS other (plmn text, "noServiceMinutesPerDay" float8)
       WHERE other."noServiceMinutesPerDay" IS NOT NULL
       UNION ALL SELECT a.plmn, 0 ${selected(conditions)} AND a.plmn IS NOT NULL
     ) known GROUP BY plmn ORDER BY change, plmn`,
    values,
  )
  return {
    ...today,
    operators: operators.map(({ plmn, change, knownSims }) => ({
      ...{
        plmn,
        knownSims,
        noServiceMinutesPerDay: Math.max(0, Math.round((today.noServiceMinutesPerDay + change) * 100) / 100),
      },
    })),
  }
}
