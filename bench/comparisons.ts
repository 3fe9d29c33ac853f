import { performance } from 'node:perf_hooks'
import { compareRadios } from '#fleet-map/radio-health/compare'
import { adviseSims } from '#fleet-map/sim-advice/advise'
import { radioVoters } from '#questdb/votes/radio-cells'
import { refreshCoverage } from '../test/support/telemetry-rows.ts'
import type { Bench, Figure } from './report.ts'
import { seedRegistry } from './seed-telemetry.ts'
import { seedRoads, seedVotes } from './seed-votes.ts'
import { type BenchStack, withBenchStack } from './stack.ts'
import { median } from './statistics.ts'

type Size = { devices: number; votes: number; rounds: number; roadKm: number }

const quickSize: Size = { devices: 1_000, votes: 100, rounds: 2, roadKm: 100 }
const fullSize: Size = { devices: 10_000, votes: 360, rounds: 3, roadKm: 1_000 }

/** A device drives about 120 km again and again. */
const routePlaces = 1_000
const days = 30
const hourMs = 3_600_000

/** The nightly comparisons of an organization with their reads, compared with one statement that counts the same votes by modem. */
export const comparisons: Bench = {
  name: 'comparisons',
  about:
    'Radio health and SIM advice of one organization as the worker makes them, a month of `--votes` votes of each device on ten roads, compared with one statement that counts the same votes by modem.',
  byNameOnly: true,
  async run({ quick, devices, votes, rounds }) {
    const size = quick ? quickSize : fullSize
    const chosen = {
      ...size,
      ...{ devices: devices ?? size.devices, votes: votes ?? size.votes, rounds: rounds ?? size.rounds },
    }
    return withBenchStack((stack) => measure(stack, chosen))
  },
}

async function measure(stack: BenchStack, { devices, votes: votesPerDevice, rounds, roadKm }: Size): Promise<Figure[]> {
  const { questdb } = stack
  const fleet = await seedRegistry(stack, devices)
  await seedRoads(stack, fleet, roadKm)
  await seedVotes(questdb, fleet, { days, votes: votesPerDevice, routePlaces })
  await refreshCoverage(questdb, 40 * 60_000)
  const toMs = Math.ceil(Date.now() / hourMs) * hourMs
  const votes = { organizationId: fleet.organizationId, fromMs: toMs - (days + 1) * 24 * hourMs, toMs }
  const radios = fleet.deviceIds.map((id) => ({ id, model: 'RX400', ownedFromMs: null }))
  const ids = new Set(fleet.deviceIds)
  const before = process.memoryUsage.rss()
  const [counted, compared, advised]: [Cost[], Cost[], Cost[]] = [[], [], []]
  for (let round = 0; round < rounds; round++) {
    counted.push(await costOf(() => radioVoters(questdb, votes)))
    compared.push(await costOf(() => compareRadios(questdb, radios, votes)))
    advised.push(await costOf(() => adviseSims(questdb, ids, votes, [])))
  }
  const count = devices * votesPerDevice
  const of = `${devices.toLocaleString('en')} devices, ${count.toLocaleString('en')} votes`
  const floor = median(counted.map(({ seconds }) => seconds))
  const figure = (name: string, costs: readonly Cost[]): Figure => {
    const seconds = median(costs.map((cost) => cost.seconds))
    const cpuSeconds = median(costs.map((cost) => cost.cpuSeconds))
    return {
      name: `${of}: ${name}`,
      value: `${seconds.toFixed(1)} s, of these ${cpuSeconds.toFixed(1)} s CPU of the worker`,
      ratio: `${(seconds / floor).toFixed(1)} of the count`,
    }
  }
  return [
    { name: `${of}: one statement that counts them by modem`, value: `${floor.toFixed(2)} s` },
    figure('radio health', compared),
    figure('SIM advice', advised),
    {
      name: `${of}: memory of the process`,
      value: `at most ${(process.resourceUsage().maxRSS / 1_000).toFixed(0)} MB, with ${(before / 1e6).toFixed(0)} MB before`,
    },
  ]
}

type Cost = { seconds: number; cpuSeconds: number }

async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  const [startMs, cpu] = [performance.now(), process.cpuUsage()]
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { seconds: (performance.now() - startMs) / 1_000, cpuSeconds: (user + system) / 1e6 }
}
