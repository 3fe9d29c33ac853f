import { isUuid } from '#core/ids'
import { type QuestdbSql, type SqlValue, timestampParameter } from '#questdb/sql'

/** Which votes to count. */
export type VoteFilter = {
  organizationId: string
  fromMs: number
  /** Only these resolution-5 areas, as decimal text of their H3 index. */
  areas?: readonly string[] | undefined
  /** Only these cells of one resolution, by their hexadecimal H3 index. */
  cells?: { resolution: number; h3: readonly string[] } | undefined
  deviceIds?: readonly string[] | undefined
  rat?: string | undefined
  plmn?: string | undefined
  /** Votes a device cast before it belonged to the organization: stored, but shown to nobody. */
  notBefore?: readonly { deviceId: string; fromMs: number }[] | undefined
}

/** A FROM source in parentheses, with the values it binds. */
export type Source = { text: string; values: SqlValue[] }

const hourMs = 3_600_000
const minuteMs = 60_000

/**
 * Votes as `(h3_10, rat, plmn, rsrp_bin, sinr_bin, votes, last_at)`: whole hours from the hourly counts, what is left of
 * the first hour from the votes themselves. Conditions on devices are only known to the votes.
 */
export function voteSource(filter: VoteFilter): Source {
  const single = `SELECT h3_10, rat, plmn, floor(rsrp_dbm + 0.5) rsrp_bin, floor(sinr_db + 0.5) sinr_bin,
                         1::long votes, voted_at last_at FROM coverage_vote_1m`
  const hourly = 'SELECT h3_10, rat, plmn, rsrp_bin, sinr_bin, votes, last_at FROM coverage_1h'
  return source(filter, single, hourly)
}

/** Who voted where, as `(h3_10, device_id)` with repetitions. */
export const voterSource = (filter: VoteFilter): Source =>
  source(filter, 'SELECT h3_10, device_id FROM coverage_vote_1m', 'SELECT h3_10, device_id FROM coverage_device_1h')

function source(filter: VoteFilter, single: string, hourly: string): Source {
  const values: SqlValue[] = []
  const bind = (value: SqlValue) => `$${values.push(value)}`
  const area = conditions(filter, bind)
  const minute = bind(timestampParameter(Math.floor(filter.fromMs / minuteMs) * minuteMs))
  const from = bind(timestampParameter(filter.fromMs))
  const fromVotes = `${single} WHERE ${area} AND ts >= ${minute} AND voted_at >= ${from}`
  if (filter.deviceIds || filter.notBefore?.length) {
    return { text: `(${fromVotes} AND ${deviceConditions(filter, bind)})`, values }
  }
  const wholeHour = bind(timestampParameter(Math.ceil(filter.fromMs / hourMs) * hourMs))
  return {
    text: `(${fromVotes} AND ts < ${wholeHour} UNION ALL ${hourly} WHERE ${area} AND ts >= ${wholeHour})`,
    values,
  }
}

type Bind = (value: SqlValue) => string

function conditions(filter: VoteFilter, bind: Bind): string {
  const all = [`org_id = ${bind(filter.organizationId)}`]
  if (filter.areas) all.push(`h3_5 IN (${filter.areas.map((area) => BigInt(area)).join(', ')})`)
  if (filter.cells) {
    const longs = filter.cells.h3.map((h3) => BigInt(`0x${h3}`))
    all.push(longs.length > 0 ? `${parentCell(filter.cells.resolution)} IN (${longs.join(', ')})` : 'false')
  }
  if (filter.rat !== undefined) all.push(`rat = ${bind(filter.rat)}`)
  if (filter.plmn !== undefined) all.push(`plmn = ${bind(filter.plmn)}`)
  return all.join(' AND ')
}

function deviceConditions({ deviceIds, notBefore = [] }: VoteFilter, bind: Bind): string {
  const all = notBefore.map(
    ({ deviceId, fromMs }) => `(device_id != ${bind(deviceId)} OR voted_at >= ${bind(timestampParameter(fromMs))})`,
  )
  if (deviceIds) all.push(deviceIds.length > 0 ? `device_id IN (${deviceIds.map(literalId).join(', ')})` : 'false')
  return all.join(' AND ')
}

/** A group may have more devices than a statement can bind, so that ids stand in the text; only UUIDs may. */
function literalId(deviceId: string): string {
  if (!isUuid(deviceId)) throw new TypeError('A device id is a UUID.')
  return `'${deviceId}'`
}

const votersAtOnce = 500

/** Of devices that changed hands, those that did vote with what they had buffered from before. */
export async function earlyVoters(
  questdb: QuestdbSql,
  organizationId: string,
  fromMs: number,
  owned: readonly { deviceId: string; fromMs: number }[],
): Promise<{ deviceId: string; fromMs: number }[]> {
  const early: { deviceId: string; fromMs: number }[] = []
  for (let start = 0; start < owned.length; start += votersAtOnce) {
    const some = owned.slice(start, start + votersAtOnce)
    const rows = await questdb.queryArrays<[string, number]>(
      `SELECT device_id, min(voted_at) FROM coverage_vote_1m
       WHERE org_id = $1 AND ts >= $2 AND device_id IN (${some.map((_, index) => `$${index + 3}`).join(', ')})
       GROUP BY device_id`,
      [organizationId, timestampParameter(fromMs - minuteMs), ...some.map(({ deviceId }) => deviceId)],
    )
    const firstVotes = new Map(rows)
    early.push(...some.filter(({ deviceId, fromMs }) => (firstVotes.get(deviceId) ?? fromMs) < fromMs))
  }
  return early
}

/** The resolution of the cells that are stored. */
const finestResolution = 10

/**
 * The ancestor of `h3_10` as SQL. An H3 index holds its resolution in bits 52–55 and a digit of three bits for each level
 * below them; unused digits are all ones. So an ancestor is a coarser resolution and more unused digits.
 */
export function parentCell(resolution: number): string {
  if (resolution === finestResolution) return 'h3_10'
  const digitBits = (level: number) => 0b111n << BigInt((15 - level) * 3)
  let unused = 0n
  for (let level = resolution + 1; level <= finestResolution; level++) unused |= digitBits(level)
  const kept = (1n << 63n) - 1n - ((0b1111n << 52n) | unused)
  return `((h3_10 & ${kept}) | ${(BigInt(resolution) << 52n) | unused})`
}
