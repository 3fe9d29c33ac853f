import { get } from '../../api/client.ts'
import { useResource } from '../../components/resource.ts'
import { isWorthChanging, minutesText } from '../../components/sim-text.ts'
import { linkTo } from '../../state/url.ts'
import { Card } from './card.tsx'
import css from './overview.module.css'

const shownSims = 6
const everyMs = 60_000

type SimCardProps = { org: string; tags: string[]; nameOf: (plmn: string) => string }

/** The SIMs that would have more service with another operator, the greatest gain first. */
export function SimCard({ org, tags, nameOf }: SimCardProps) {
  const sims = useResource(
    JSON.stringify(['sims', org, tags]),
    (signal) => get('/fleet/sim-advice', { signal, query: { orgId: org, tag: tags, limit: shownSims } }),
    { everyMs },
  )
  return (
    <Card
      title="SIMs on the wrong operator"
      area="sims"
      source={sims}
      note="By what your routers measured in the same places"
    >
      {({ items, asOf }) => {
        const better = items.filter(isWorthChanging)
        if (better.length === 0)
          return (
            <p class="panel-note">
              {asOf === null
                ? 'Not compared yet. Operators are compared each night, and every ten minutes on the first day with up to 10,000 devices.'
                : 'No other operator is known to serve a SIM better.'}
            </p>
          )
        return (
          <ol class={css.bars}>
            {better.map((sim) => (
              <li key={`${sim.deviceId} ${sim.modem}`}>
                <a href={linkTo('device', { id: sim.deviceId })}>
                  {sim.deviceName}
                  {sim.modem === null ? '' : `, ${sim.modem}`}
                </a>
                <span class={css.amount}>−{minutesText(sim.gainMinutesPerDay ?? 0)}</span>
                <span class="hint">
                  {sim.plmn === null ? 'Unknown operator' : nameOf(sim.plmn)}: {minutesText(sim.noServiceMinutesPerDay)}{' '}
                  without service. {nameOf(sim.bestPlmn ?? '')}:{' '}
                  {minutesText(sim.noServiceMinutesPerDay - (sim.gainMinutesPerDay ?? 0))}.
                </span>
              </li>
            ))}
          </ol>
        )
      }}
    </Card>
  )
}
