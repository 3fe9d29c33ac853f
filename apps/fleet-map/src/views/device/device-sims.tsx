import { get } from '../../api/client.ts'
import type { SimAdvice } from '../../api/schemas.ts'
import { ago, moment } from '../../components/format.ts'
import { useResource } from '../../components/resource.ts'
import { minutesText } from '../../components/sim-text.ts'
import { nameOfOperator, readOperatorNames } from '../../state/operators.ts'
import { Fact, OfModem } from './device-facts.tsx'

/** The service compares at most once an hour. */
const everyMs = 600_000
const shownOperators = 3

/**
 * The time without service of each SIM of a device, today and with other operators. Shows nothing before the first comparison, or if
 * the plan has none.
 */
export function DeviceSims({ deviceId, org }: { deviceId: string; org: string }) {
  const found = useResource(
    `sim advice ${deviceId}`,
    async (signal) => {
      const query = { orgId: org, deviceId: [deviceId] }
      const [advice, names] = await Promise.all([
        get('/fleet/sim-advice', { signal, query }),
        readOperatorNames(org, signal),
      ])
      return { ...advice, nameOf: (plmn: string) => nameOfOperator(names, plmn) }
    },
    { everyMs },
  )
  const { items = [], asOf, nameOf } = found.value ?? {}
  if (items.length === 0 || !asOf || !nameOf) return null
  return (
    <section class="card panel" aria-label="Time without service">
      <h2>Time without service</h2>
      <p class="label" title={moment(asOf)}>
        By what your routers measured in the same places, {ago(asOf)}
      </p>
      {items.map((sim) => (
        <SimFacts key={sim.modem} sim={sim} nameOf={nameOf} />
      ))}
    </section>
  )
}

const SimFacts = ({ sim, nameOf }: { sim: SimAdvice; nameOf: (plmn: string) => string }) => (
  <OfModem modem={sim.modem}>
    <Fact name={sim.plmn === null ? 'Unknown operator' : nameOf(sim.plmn)}>
      {minutesText(sim.noServiceMinutesPerDay)} today
    </Fact>
    {sim.operators.slice(0, shownOperators).map(({ plmn, noServiceMinutesPerDay }) => (
      <Fact key={plmn} name={nameOf(plmn)}>
        {noServiceMinutesPerDay === null ? 'Not known here' : minutesText(noServiceMinutesPerDay)}
      </Fact>
    ))}
  </OfModem>
)
