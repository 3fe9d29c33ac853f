/** A materialized view. It is created if it is missing and rebuilt if its query changed. */
export type View = {
  name: string
  /** The table or view whose changes it follows. */
  base: string
  /** A time at which it is refreshed. */
  refreshedAt: string
  query: string
  /** A column with an index. */
  indexed?: string
}

/** How often a view is refreshed. Views of large fleets are refreshed less often: see `paceViews`. */
export const refreshSql = ({ refreshedAt }: Pick<View, 'refreshedAt'>, minutes: number): string =>
  `EVERY ${minutes}m START '${refreshedAt}'`

/** `ttlDays`: retention of its rows. */
export function createViewSql(view: View, ttlDays: number): string {
  const index = view.indexed ? `, INDEX (${view.indexed} CAPACITY 16)` : ''
  return `CREATE MATERIALIZED VIEW IF NOT EXISTS ${view.name} WITH BASE ${view.base}
    REFRESH ${refreshSql(view, 1)} AS (${view.query})${index} PARTITION BY DAY TTL ${ttlDays} DAYS`
}

/**
 * One vote per device, modem, H3 cell and UTC minute: the row with the latest ts, whatever its RAT or PLMN, no service
 * included. A vote without service counts for the operator that the modem lost. The refresh works minute by minute from what the table then holds, so late, replaced and realigned rows
 * are voted on again. `serving_cell` is the cell identity; without one, a negative number from PCI and channel, see `servingCellOf`.
 */
const coverageVotes: View = {
  name: 'coverage_vote_1m',
  base: 'cellular',
  refreshedAt: '2026-01-01T00:00:00.000000Z',
  query: `
      SELECT ts, org_id, device_id, modem, h3_10, h3_5, last(ts) voted_at, last(rat) rat,
             last(coalesce(plmn, lost_plmn)::symbol) plmn,
             last(rsrp_dbm) rsrp_dbm, last(sinr_db) sinr_db,
             last(coalesce(cell_id::long, -1 - (pci * 4194304 + arfcn)::long)) serving_cell
      FROM cellular WHERE h3_10 IS NOT NULL SAMPLE BY 1m
    `,
  indexed: 'device_id',
}

const hoursOfVotes = { base: coverageVotes.name, refreshedAt: '2026-01-01T00:00:20.000000Z' }

/**
 * Votes counted per hour, organization, cell, RAT, PLMN and 1 dB bins of RSRP and SINR. It refreshes 20 s after the
 * votes do, so that a sample needs at most a minute and a half to be counted.
 */
const coverageHours: View = {
  name: 'coverage_1h',
  ...hoursOfVotes,
  query: `
      SELECT ts, org_id, h3_10, h3_5, rat, plmn, floor(rsrp_dbm + 0.5) rsrp_bin, floor(sinr_db + 0.5) sinr_bin,
             count() votes, max(voted_at) last_at
      FROM coverage_vote_1m SAMPLE BY 1h
    `,
}

/**
 * The devices that voted in a cell in an hour, to count distinct devices. The times of their first and last vote tell exactly
 * who voted in a window that begins or ends within the hour.
 */
const coverageDevices: View = {
  name: 'coverage_device_1h',
  ...hoursOfVotes,
  query: `
      SELECT ts, org_id, device_id, h3_10, h3_5, rat, plmn, count() votes, min(voted_at) first_at, max(voted_at) last_at
      FROM coverage_vote_1m SAMPLE BY 1h
    `,
}

/**
 * The moments (device, cell and minute) with votes of several modems: the votes beyond one per moment, and the votes without
 * service that are in a moment with service or beyond one per moment without. Nearly empty unless devices have several modems.
 */
const coverageMoments: View = {
  name: 'coverage_moment_1h',
  ...hoursOfVotes,
  query: `
      SELECT ts, org_id, h3_10, h3_5, sum(modems - 1) more_votes,
             sum(CASE WHEN dark < modems THEN dark ELSE dark - 1 END) more_dark
      FROM (
        SELECT ts, org_id, device_id, h3_10, h3_5, count() modems, sum(CASE WHEN rat = 'none' THEN 1 ELSE 0 END) dark
        FROM coverage_vote_1m WHERE modem IS NOT NULL SAMPLE BY 1m
      ) WHERE modems > 1 SAMPLE BY 1h
    `,
}

/** The views in the order of their dependencies. */
export const views: readonly View[] = [coverageVotes, coverageHours, coverageDevices, coverageMoments]
