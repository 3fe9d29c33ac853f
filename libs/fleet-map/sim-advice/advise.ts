import type { OwnedDevice } from '#questdb/server/owned-only'
import type { QuestdbRows } from '#questdb/server/sql'
import { createCellIndex } from '#questdb/votes/cell-index'
import { type OrganizationVotes, votersOutside } from '#questdb/votes/organization-votes'
import { createRadioIndex } from '#questdb/votes/radio-index'
import { readMinutes, readOperators, simVoters } from '#questdb/votes/sim-votes'
import { createSimAdvisor, type SimAdvice } from '#telemetry/sim-advice/sim-advice'
import { createSimMinutes } from '#telemetry/sim-advice/sim-minutes'

/** The advice for the SIM in a modem. `plmn`: its operator, as most of its votes say; null if none does. */
export type AdvisedSim = SimAdvice & { deviceId: string; modem: string | null; plmn: string | null }

const dayMs = 86_400_000
const minuteMs = 60_000

/**
 * Advises on the SIMs of these devices by the votes of the organization. `late`: the devices that came to it by a transfer since then,
 * whose votes from before do not count. `votes` begins and ends with an hour. Computes for seconds at
 * a time for a large organization.
 */
export async function adviseSims(
  questdb: QuestdbRows,
  deviceIds: ReadonlySet<string>,
  organizationVotes: OrganizationVotes,
  late: readonly OwnedDevice[],
): Promise<AdvisedSim[]> {
  const votes = { ...organizationVotes, ownedOnly: await votersOutside(questdb, late, organizationVotes) }
  const sims = (await simVoters(questdb, votes)).filter(({ deviceId }) => deviceIds.has(deviceId))
  const advisor = createSimAdvisor(sims.length)
  const cells = createCellIndex()
  await readOperators(questdb, votes, cells, advisor.addCell)
  const minutes = createSimMinutes(sims.length, advisor.addMinutes)
  // The minutes of the first UTC day before the start of the votes.
  const firstMinute = (votes.fromMs % dayMs) / minuteMs
  await readMinutes(questdb, votes, {
    cells,
    radios: createRadioIndex(sims),
    take: (sim, minute, cell, isDark) => minutes.add(sim, firstMinute + minute, cell, isDark),
  })
  minutes.end()
  return sims.map(({ deviceId, modem, plmn }, sim) => ({
    ...{ deviceId, modem, plmn },
    ...advisor.adviceOf(sim, { plmn, days: minutes.daysOf(sim) }),
  }))
}
