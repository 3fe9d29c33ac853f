import { takeInSlices } from '#core/slices'
import type { QuestdbSql } from '#questdb/server/sql'
import { modemKey, type OrganizationVotes } from '#questdb/votes/organization-votes'
import { levelsInRange, type RadioLevel, radioVoters, rangesOfLevels } from '#questdb/votes/radio-cells'
import { createRadioComparison, type RadioComparison, type RadioHealth } from '#telemetry/radio-health/radio-health'

/** A device of the organization. `ownedFromMs`: when it came from another one; null if this is its first. */
export type ComparedDevice = { id: string; model: string; ownedFromMs: number | null }

const hourMs = 3_600_000
/** Votes that one statement reads. Each takes at most about 400 bytes until it is added. */
const votesAtOnce = 200_000

/** Compares the radios that voted for the organization, worst first. The window begins and ends with an hour. */
export async function compareRadios(
  questdb: QuestdbSql,
  devices: readonly ComparedDevice[],
  votes: OrganizationVotes,
): Promise<RadioHealth[]> {
  const deviceOf = new Map(devices.map((device) => [device.id, device]))
  const voters = await radioVoters(questdb, votes)
  const known = voters.flatMap(({ deviceId, modem }) => {
    const device = deviceOf.get(deviceId)
    return device ? [{ deviceId, modem, model: device.model, ownedFromMs: device.ownedFromMs ?? 0 }] : []
  })
  const indexOf = new Map(known.map(({ deviceId, modem }, index) => [modemKey(deviceId, modem), index]))
  const comparison = createRadioComparison(
    known.map(({ ownedFromMs: _, ...radio }) => radio),
    { fromHour: votes.fromMs / hourMs, toHour: votes.toMs / hourMs },
  )
  for (const range of await rangesOfLevels(questdb, votes, votesAtOnce)) {
    const levels = await levelsInRange(questdb, votes, range)
    addCells(comparison, levels, ({ deviceId, modem, hour }) => {
      const radio = indexOf.get(modemKey(deviceId, modem))
      return radio !== undefined && hour * hourMs >= (known[radio]?.ownedFromMs ?? 0) ? radio : undefined
    })
  }
  return takeInSlices(comparison.healthOfAll())
}

const isSameCell = (a: RadioLevel, b: RadioLevel): boolean =>
  a.cell === b.cell && a.rat === b.rat && a.servingCell === b.servingCell

/** Adds levels, in which those of a cell follow each other. `radioOf` returns undefined for one that does not count. */
function addCells(
  comparison: RadioComparison,
  levels: readonly RadioLevel[],
  radioOf: (level: RadioLevel) => number | undefined,
): void {
  let [radios, hours, rsrpDbm]: [number[], number[], number[]] = [[], [], []]
  for (const [at, level] of levels.entries()) {
    const radio = radioOf(level)
    for (let vote = 0; radio !== undefined && vote < level.votes; vote++) {
      radios.push(radio)
      hours.push(level.hour)
      rsrpDbm.push(level.rsrpDbm)
    }
    const next = levels[at + 1]
    if (next !== undefined && isSameCell(level, next)) continue
    if (radios.length > 0) comparison.addCell({ length: radios.length, radios, hours, rsrpDbm })
    ;[radios, hours, rsrpDbm] = [[], [], []]
  }
}
