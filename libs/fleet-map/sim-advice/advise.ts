import { forEachInSlices } from '#core/slices'
import { maxIds } from '#questdb/server/id-list'
import type { QuestdbSql } from '#questdb/server/sql'
import { modemKey, type OrganizationVotes } from '#questdb/votes/organization-votes'
import { cellsOfSims, operatorsInRange, rangesOfOperators, type SimVoter, simVoters } from '#questdb/votes/sim-votes'
import { createSimAdvisor, type SimAdvice } from '#telemetry/sim-advice/sim-advice'

/** The advice for the SIM in a modem. `plmn`: its operator, as most of its votes say; null if none does. */
export type AdvisedSim = SimAdvice & { deviceId: string; modem: string | null; plmn: string | null }

/** Votes that one statement reads. Each takes at most about 400 bytes. */
const votesAtOnce = 200_000

/** Advises on the SIMs of these devices by the votes of the organization. `votes` begins and ends with an hour. */
export async function adviseSims(
  questdb: QuestdbSql,
  deviceIds: ReadonlySet<string>,
  votes: OrganizationVotes,
): Promise<AdvisedSim[]> {
  const voters = await simVoters(questdb, votes)
  const advisor = createSimAdvisor()
  for (const range of await rangesOfOperators(questdb, votes, votesAtOnce)) {
    const cells = await operatorsInRange(questdb, votes, range)
    await forEachInSlices(cells, ({ cell, operators }) => advisor.addCell(cell, operators))
  }
  const voterOf = new Map(voters.map((voter) => [modemKey(voter.deviceId, voter.modem), voter]))
  const advised: AdvisedSim[] = []
  for (const part of inParts(voters.filter(({ deviceId }) => deviceIds.has(deviceId)))) {
    await forEachInSlices(await cellsOfSims(questdb, votes, part), ({ deviceId, modem, cells }) => {
      const voter = voterOf.get(modemKey(deviceId, modem))
      if (!voter) return
      const { plmn, days } = voter
      advised.push({ deviceId, modem, plmn, ...advisor.advise({ plmn, days, cells }) })
    })
  }
  return advised
}

/** The devices of these modems, in parts that one statement reads. */
function inParts(voters: readonly SimVoter[]): string[][] {
  const votesOf = new Map<string, number>()
  for (const { deviceId, votes } of voters) votesOf.set(deviceId, (votesOf.get(deviceId) ?? 0) + votes)
  const parts: string[][] = []
  let votesInPart = 0
  for (const [deviceId, votes] of votesOf) {
    const part = parts.at(-1)
    votesInPart += votes
    if (part && part.length < maxIds && votesInPart <= votesAtOnce) part.push(deviceId)
    else {
      parts.push([deviceId])
      votesInPart = votes
    }
  }
  return parts
}
