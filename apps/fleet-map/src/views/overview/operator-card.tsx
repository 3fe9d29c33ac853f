import type { SignalTrend } from '../../api/schemas.ts'
import { measured } from '../../components/format.ts'
import type { Resource } from '../../components/resource.ts'
import { linkTo } from '../../state/url.ts'
import { Card } from './card.tsx'
import css from './overview.module.css'
import { QualityBar } from './quality-bar.tsx'
import { percent, shares } from './signal-shares.ts'

const shownOperators = 8

type OperatorCardProps = { trend: Resource<SignalTrend>; nameOf: (plmn: string) => string }

/** The operators with the largest share of poor measurements. */
export const OperatorCard = ({ trend, nameOf }: OperatorCardProps) => (
  <Card
    title="Worst operators"
    area="operators"
    source={trend}
    note="By the share of measurements that are poor or worse"
  >
    {({ operators }) =>
      operators.length === 0 ? (
        <p class="panel-note">No operator was measured in this time range.</p>
      ) : (
        <ol class={css.bars}>
          {operators.slice(0, shownOperators).map((operator) => {
            const [, , , poor, none] = shares(operator.byQuality)
            return (
              <li key={operator.plmn}>
                <a href={linkTo('map', { plmn: operator.plmn }, ['org', 'tag', 'window'])}>{nameOf(operator.plmn)}</a>
                <span class={css.amount}>{percent((poor?.share ?? 0) + (none?.share ?? 0))}</span>
                <QualityBar byQuality={operator.byQuality} />
                <span class="hint">
                  Median {measured(operator.rsrpDbm.p50, 'dBm')}, service {percent(operator.serviceRatio)}
                </span>
              </li>
            )
          })}
        </ol>
      )
    }
  </Card>
)
