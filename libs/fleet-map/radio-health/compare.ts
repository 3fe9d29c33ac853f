import type { QuestdbRows } from '#questdb/server/sql'
import { createCellIndex } from '#questdb/votes/cell-index'
import type { OrganizationVotes } from '#questdb/votes/organization-votes'
import { radioVoters, rangesOfLevels } from '#questdb/votes/radio-cells'
import { createRadioIndex } from '#questdb/votes/radio-index'
import { readRadioVotes } from '#questdb/votes/radio-votes'
import { isMeasurable } from '#telemetry/radio-health/packed-level'
import { createRadioComparison, type RadioComparison, type RadioHealth } from '#telemetry/radio-health/radio-health'
import { byRadio } from '#telemetry/radio-health/roster'
import { createVoteBatch } from '#telemetry/radio-health/vote-batch'

/** A device of the organization. `ownedFromMs`: when it came from another one; null if this is its first. */
export type ComparedDevice = { id: string; model: string; ownedFromMs: number | null }

const hourMs = 3_600_000
/**
 * Votes that one statement reads. Each takes 12 bytes until it is added, and a cell of theirs at most 56. QuestDB reads all votes of the organization for each
 * statement.
 */
const votesAtOnce = 3_000_000

/**
 * Compares the radios that voted for the organization, worst first. The window begins and ends with an hour. Computes for seconds at a
 * time for a large organization.
 */
export async function compareRadios(
  questdb: QuestdbRows,
  devices: readonly ComparedDevice[],
  votes: OrganizationVotes,
): Promise<RadioHealth[]> {
  const deviceOf = new Map(devices.map((device) => [device.id, device]))
  const voters = await radioVoters(questdb, votes)
  const radios = voters
    .flatMap(({ deviceId, modem, votes: count }) => {
      const device = deviceOf.get(deviceId)
      return device ? [{ deviceId, modem, model: device.model, ownedFromMs: device.ownedFromMs ?? 0, count }] : []
    })
    // In this order, the comparison need not sort the votes of a cell.
    .sort(byRadio)
  const comparison = createRadioComparison(
    radios.map(({ deviceId, modem, model }) => ({ deviceId, modem, model })),
    { fromHour: votes.fromMs / hourMs, toHour: votes.toMs / hourMs },
  )
  await addCells(questdb, votes, radios, comparison)
  return comparison.healthOfAll()
}

type OwnedRadio = { deviceId: string; modem: string | null; ownedFromMs: number; count: number }

/** Adds all cells to the comparison. The memory for their votes is free afterwards. */
async function addCells(
  questdb: QuestdbRows,
  votes: OrganizationVotes,
  owned: readonly OwnedRadio[],
  comparison: RadioComparison,
): Promise<void> {
  const fromHour = votes.fromMs / hourMs
  const firstHours = Float64Array.from(owned, ({ ownedFromMs }) => ownedFromMs / hourMs - fromHour)
  const radios = createRadioIndex(owned)
  const cells = createCellIndex()
  const total = owned.reduce((sum, { count }) => sum + count, 0)
  const batch = createVoteBatch(Math.min(votesAtOnce, total))
  for (const range of await rangesOfLevels(questdb, votes, votesAtOnce)) {
    cells.clear()
    await readRadioVotes(questdb, votes, range, {
      cells,
      radios,
      take(cell, radio, hour, level) {
        if (hour < (firstHours[radio] ?? 0) || !isMeasurable(level)) return
        if (batch.isFull()) batch.reduce()
        batch.add(cell, radio, hour, level)
      },
    })
    // The index of a radio is its rank, because they are in order.
    batch.takeCells(comparison.addSorted)
  }
  batch.free()
}
