import { isUuid } from '#core/ids'
import { ofDevices } from '#questdb/server/device-list'
import { inIntervals, type OwnedDevice } from '#questdb/server/owned-only'
import { type SqlValue, timestampParameter } from '#questdb/server/sql'
import { finestResolution } from '#telemetry/coverage/ancestor-cell'
import { type AreaSet, ancestorBits, areaResolution, finestRange, longOfH3 } from './h3-index.ts'

/** Which votes to count. */
export type VoteFilter = {
  organizationId: string
  fromMs: number
  /** Counts votes before this time only. Default: all until now. */
  toMs?: number | undefined
  /** Only votes in these areas. */
  areas?: AreaSet | undefined
  cells?: CellSet | undefined
  /** Only these devices, one of the lists of `deviceLists`. */
  deviceIds?: readonly string[] | undefined
  rat?: string | undefined
  plmn?: string | undefined
  /** Excludes votes of these devices from outside the intervals [fromMs, toMs) in which the organization owned them. */
  ownedOnly?: readonly OwnedDevice[] | undefined
  /** The ends of the window are in different hours, so that devices can be counted by hours: two to three times as fast. */
  hasHours?: boolean | undefined
}

/** Only these cells of one resolution from 5 to 10, by their hexadecimal H3 index. */
type CellSet = { resolution: number; h3: readonly string[] }

/** A FROM source in parentheses, with the values it binds. */
export type Source = { text: string; values: SqlValue[] }

const hourMs = 3_600_000
const minuteMs = 60_000

/**
 * Votes as `(h3_10, rat, plmn, rsrp_bin, sinr_bin, votes, last_at)` in parts that have no vote in common: what is left of
 * the first and of the last hour from the votes themselves, whole hours from the hourly counts. QuestDB groups a part several times
 * faster than their union, so counts that can be added up are read part by part.
 */
export function voteParts(filter: VoteFilter): Source[] {
  const single = `SELECT h3_10, rat, plmn, floor(rsrp_dbm + 0.5) rsrp_bin, floor(sinr_db + 0.5) sinr_bin,
                         1::long votes, voted_at last_at FROM coverage_vote_1m`
  const hourly = 'SELECT h3_10, rat, plmn, rsrp_bin, sinr_bin, votes, last_at FROM coverage_1h'
  return parts(filter, single, hourly)
}

/** The parts of `voteParts` as `(ts, rat, rsrp_bin, votes)`; `ts` is exact to the hour. */
export function timedVoteParts(filter: VoteFilter): Source[] {
  const single = 'SELECT ts, rat, floor(rsrp_dbm + 0.5) rsrp_bin, 1::long votes FROM coverage_vote_1m'
  return parts(filter, single, 'SELECT ts, rat, rsrp_bin, votes FROM coverage_1h')
}

/**
 * What votes count beyond their moments (device, cell and minute) where several modems of a device voted, as `(ts, h3_10,
 * more_votes, more_dark)`: a moment counts once, and is without service only when no modem had service in it. Empty with a filter
 * by RAT or operator, whose votes are counted for themselves.
 */
export function momentParts(filter: VoteFilter): Source[] {
  if (filter.rat !== undefined || filter.plmn !== undefined) return []
  const ofVotes = (where: string) => `SELECT ts, h3_10, modems - 1 more_votes,
      CASE WHEN dark < modems THEN dark ELSE dark - 1 END more_dark
    FROM (
      SELECT ts, device_id, h3_10, count() modems, sum(CASE WHEN rat = 'none' THEN 1 ELSE 0 END) dark
      FROM coverage_vote_1m ${where} AND modem IS NOT NULL GROUP BY ts, device_id, h3_10
    ) WHERE modems > 1`
  return parts(filter, ofVotes, 'SELECT ts, h3_10, more_votes, more_dark FROM coverage_moment_1h')
}

/** The votes as one source, for conditions on their sums. */
export const voteSource = (filter: VoteFilter): Source => unionOf(voteParts(filter))

/** Who voted, as `(h3_10, device_id, votes)` with repetitions. The sum of `votes` is exact to the hour. */
export function voterSource(filter: VoteFilter): Source {
  if (filter.hasHours && !isOfDevices(filter)) return hoursOfVoters(filter)
  const single = 'SELECT h3_10, device_id, 1::long votes FROM coverage_vote_1m'
  return unionOf(parts(filter, single, 'SELECT h3_10, device_id, votes FROM coverage_device_1h'))
}

/**
 * Voters by hour, without a union: QuestDB groups one view on all its cores, and by the numbers of the device ids. No hour may
 * contain both ends of the window.
 */
const hoursOfVoters = (filter: VoteFilter): Source =>
  part((bind) => {
    const { fromMs, toMs } = filter
    const time = (ms: number) => bind(timestampParameter(ms))
    const all = [
      conditions(filter, bind),
      `ts >= ${time(Math.floor(fromMs / hourMs) * hourMs)} AND last_at >= ${time(fromMs)}`,
      ...(toMs === undefined ? [] : [`ts < ${time(toMs)} AND first_at < ${time(toMs)}`]),
    ]
    return `SELECT h3_10, device_id, votes FROM coverage_device_1h WHERE ${all.join(' AND ')}`
  })

/** Rows of all sources, which have the same columns. Renumbers their parameters. */
export function unionOf(sources: readonly Source[]): Source {
  const [only] = sources
  if (only && sources.length === 1) return only
  let bound = 0
  const texts = sources.map(({ text, values }) => {
    const before = bound
    bound += values.length
    return `SELECT * FROM ${text.replace(/\$(\d+)/g, (_, number) => `$${Number(number) + before}`)}`
  })
  return { text: `(${texts.join(' UNION ALL ')})`, values: sources.flatMap(({ values }) => values) }
}

/** `single` selects from the votes, and is a function if its condition is not at its end. */
function parts(filter: VoteFilter, single: string | ((where: string) => string), hourly: string): Source[] {
  const { fromMs, toMs } = filter
  const ofVotes = (startMs: number, endMs: number | undefined, more?: (bind: Bind) => string) =>
    part((bind) => {
      const time = (ms: number) => bind(timestampParameter(ms))
      const all = [
        conditions(filter, bind),
        `ts >= ${time(Math.floor(startMs / minuteMs) * minuteMs)} AND voted_at >= ${time(startMs)}`,
        ...(endMs === undefined ? [] : [`ts < ${time(endMs)} AND voted_at < ${time(endMs)}`]),
        ...(more ? [more(bind)] : []),
      ]
      const where = `WHERE ${all.join(' AND ')}`
      return typeof single === 'string' ? `${single} ${where}` : single(where)
    })
  if (isOfDevices(filter)) return [ofVotes(fromMs, toMs, (bind) => deviceConditions(filter, bind))]

  const firstHourMs = Math.ceil(fromMs / hourMs) * hourMs
  const endHourMs = toMs === undefined ? undefined : Math.floor(toMs / hourMs) * hourMs
  if (toMs !== undefined && endHourMs !== undefined && endHourMs <= firstHourMs) return [ofVotes(fromMs, toMs)]
  const ofHours = part((bind) => {
    const end = endHourMs === undefined ? '' : ` AND ts < ${bind(timestampParameter(endHourMs))}`
    return `${hourly} WHERE ${conditions(filter, bind)} AND ts >= ${bind(timestampParameter(firstHourMs))}${end}`
  })
  return [
    ...(fromMs < firstHourMs ? [ofVotes(fromMs, firstHourMs)] : []),
    ofHours,
    ...(toMs !== undefined && endHourMs !== undefined && endHourMs < toMs ? [ofVotes(endHourMs, toMs)] : []),
  ]
}

/** True if the filter selects votes by device or by their time for each device, which only the votes themselves have. */
const isOfDevices = ({ deviceIds, ownedOnly }: VoteFilter): boolean =>
  deviceIds !== undefined || (ownedOnly?.length ?? 0) > 0

function part(write: (bind: Bind) => string): Source {
  const values: SqlValue[] = []
  const text = write((value) => `$${values.push(value)}`)
  return { text: `(${text})`, values }
}

type Bind = (value: SqlValue) => string

function conditions(filter: VoteFilter, bind: Bind): string {
  // A literal, because QuestDB filters a bound symbol on one thread only.
  const all = [`org_id = ${literalId(filter.organizationId)}`]
  const { areas, cells } = filter
  if (cells && cells.h3.length > 0 && cells.h3.length <= rangesAtMost) all.push(inRanges(cells))
  else {
    if (areas) all.push(inAreas(areas))
    if (cells) all.push(inCells(cells))
  }
  if (filter.rat !== undefined) all.push(`rat = ${bind(filter.rat)}`)
  if (filter.plmn !== undefined) all.push(`plmn = ${bind(filter.plmn)}`)
  return all.join(' AND ')
}

// QuestDB compiles comparisons, which makes a few of them twice as fast as a list.
const rangesAtMost = 4

const inRanges = ({ h3 }: CellSet): string => {
  const ranges = h3.map(finestRange).map(({ first, last }) => `(h3_10 >= ${first} AND h3_10 <= ${last})`)
  return `(${ranges.join(' OR ')})`
}

const inAreas = ({ resolution, indexes }: AreaSet): string =>
  `${resolution === areaResolution ? 'h3_5' : parentCell(resolution)} IN (${indexes.map((area) => BigInt(area)).join(', ')})`

const inCells = ({ resolution, h3 }: CellSet): string =>
  h3.length > 0 ? `${parentCell(resolution)} IN (${h3.map(longOfH3).join(', ')})` : 'false'

function deviceConditions({ deviceIds, ownedOnly = [] }: VoteFilter, bind: Bind): string {
  const all = ownedOnly.map((device) => inIntervals(device, 'voted_at'))
  if (deviceIds) all.push(ofDevices(deviceIds, bind))
  return all.join(' AND ')
}

/** Only UUIDs are allowed. */
function literalId(id: string): string {
  if (!isUuid(id)) throw new TypeError('An id is a UUID.')
  return `'${id}'`
}

/** The ancestor of `h3_10` as SQL. */
export function parentCell(resolution: number): string {
  if (resolution === finestResolution) return 'h3_10'
  const { kept, set } = ancestorBits(resolution)
  return `((h3_10 & ${kept}) | ${set})`
}
