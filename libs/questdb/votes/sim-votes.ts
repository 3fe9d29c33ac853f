import type { QuestdbRows } from '#questdb/server/sql'
import type { ServiceVotes } from '#telemetry/sim-advice/sim-advice'
import type { CellIndex } from './cell-index.ts'
import { cellRanges, isInRange } from './cell-ranges.ts'
import { isOfOrganization, modemKey, type OrganizationVotes } from './organization-votes.ts'
import type { RadioIndex } from './radio-index.ts'

/** A modem of a device. `plmn`: the operator of most of its votes; null if none has one. */
export type SimVoter = { deviceId: string; modem: string | null; plmn: string | null }

/** The modems that voted. Those of a device follow each other. */
export async function simVoters(questdb: QuestdbRows, votes: OrganizationVotes): Promise<SimVoter[]> {
  const { where, values } = isOfOrganization(votes)
  const operators = await questdb.queryArrays<
    [deviceId: string, modem: string | null, plmn: string | null, votes: string]
  >(
    `SELECT device_id, modem, plmn, count() votes FROM coverage_vote_1m WHERE ${where} GROUP BY device_id, modem, plmn`,
    values,
  )
  const most = new Map<string, SimVoter & { votes: number }>()
  for (const [deviceId, modem, plmn, count] of operators) {
    const key = modemKey(deviceId, modem)
    const votesOf = plmn === null ? 0 : Number(count)
    const known = most.get(key)
    const isMore =
      !known || votesOf > known.votes || (votesOf === known.votes && plmn !== null && plmn < (known.plmn ?? ''))
    if (isMore) most.set(key, { deviceId, modem, plmn, votes: votesOf })
  }
  const ofDevice = Map.groupBy(most.values(), ({ deviceId }) => deviceId)
  return [...ofDevice.values()].flat().map(({ deviceId, modem, plmn }) => ({ deviceId, modem, plmn }))
}

/** Votes of which one statement counts the operators. QuestDB keeps its groups in memory. */
const votesAtOnce = 20_000_000

/** Calls `use` once for each H3 cell of resolution 10 with its votes by operator. */
export async function readOperators(
  questdb: QuestdbRows,
  votes: OrganizationVotes,
  cells: CellIndex,
  use: (cell: number, operators: readonly ServiceVotes[]) => void,
): Promise<void> {
  const condition = isOfOrganization(votes)
  const source = votes.ownedOnly?.length ? '(SELECT *, 1 votes FROM coverage_vote_1m)' : 'coverage_1h'
  for (const range of await cellRanges(questdb, condition, votesAtOnce)) {
    let cell: number | undefined
    let operators: ServiceVotes[] = []
    const useCell = () => {
      if (cell !== undefined) use(cell, operators)
      operators = []
    }
    await questdb.readRows(
      `SELECT h3_10, votes, no_service, plmn FROM (
         SELECT h3_10, plmn, sum(votes)::int votes, sum(CASE WHEN rat = 'none' THEN votes ELSE 0 END)::int no_service
         FROM ${source} WHERE ${condition.where} AND plmn IS NOT NULL AND ${isInRange(range)}
         GROUP BY h3_10, plmn
       ) ORDER BY h3_10`,
      condition.values,
      // The offsets follow from the lengths: eight bytes, four and four, each after a length of four bytes.
      (bytes, at) => {
        const next = cells.indexOf(bytes.readInt32BE(at + 4), bytes.readInt32BE(at + 8), 0, 0, 0)
        if (next !== cell) useCell()
        cell = next
        const plmn = bytes.toString('latin1', at + 32, at + 32 + bytes.readInt32BE(at + 28))
        operators.push({ plmn, votes: bytes.readInt32BE(at + 16), noService: bytes.readInt32BE(at + 24) })
      },
    )
    useCell()
  }
}

/** Takes a vote of a SIM in a minute since the start of the votes. Cells and radios are numbers of their indexes. */
export type TakeMinute = (radio: number, minute: number, cell: number, isDark: boolean) => void

const dayMs = 86_400_000
const minuteUs = 60_000_000

/** Reads all votes of these radios once, in order of time. A statement reads a UTC day, so that none takes too long. */
export async function readMinutes(
  questdb: QuestdbRows,
  votes: OrganizationVotes,
  { cells, radios, take }: { cells: CellIndex; radios: RadioIndex; take: TakeMinute },
): Promise<void> {
  for (let fromMs = votes.fromMs; fromMs < votes.toMs; ) {
    const toMs = Math.min(votes.toMs, (Math.floor(fromMs / dayMs) + 1) * dayMs)
    const { where, values } = isOfOrganization({ ...votes, fromMs, toMs })
    await questdb.readRows(
      `SELECT h3_10, ((ts::long - ${votes.fromMs * 1_000}) / ${minuteUs} * 2 + CASE WHEN rat = 'none' THEN 1 ELSE 0 END)::int packed,
              device_id, modem
       FROM coverage_vote_1m WHERE ${where} ORDER BY ts`,
      values,
      // The offsets follow from the lengths: eight bytes and four, each after a length of four bytes.
      (bytes, at) => {
        const radio = radios.indexAt(bytes, at + 20)
        if (radio < 0) return
        const packed = bytes.readInt32BE(at + 16)
        const cell = cells.indexOf(bytes.readInt32BE(at + 4), bytes.readInt32BE(at + 8), 0, 0, 0)
        take(radio, packed >> 1, cell, (packed & 1) === 1)
      },
    )
    fromMs = toMs
  }
}
