import { offsetText } from '#core/quantity-text'
import type { RadioHealth } from '../../api/schemas.ts'
import { comparedText, radioStatusText } from '../../components/radio-text.ts'
import type { Resource } from '../../components/resource.ts'
import { linkTo } from '../../state/url.ts'
import { Card } from './card.tsx'
import css from './overview.module.css'

type RadioCardProps = { radios: Resource<{ items: RadioHealth[]; asOf: string | null }> }

/** The routers that receive less than others in the same places, the weakest first. */
export const RadioCard = ({ radios }: RadioCardProps) => (
  <Card title="Weak antennas" area="radios" source={radios} note="Compared with other routers in the same cells">
    {({ items, asOf }) =>
      items.length === 0 ? (
        <p class="panel-note">
          {asOf === null
            ? 'Not compared yet. Routers are compared each night, and every ten minutes on the first day with up to 10,000 devices.'
            : 'No router is weaker than its neighbours.'}
        </p>
      ) : (
        <ol class={css.bars}>
          {items.map((radio) => (
            <li key={`${radio.deviceId} ${radio.modem}`}>
              <a href={linkTo('device', { id: radio.deviceId })}>
                {radio.deviceName}
                {radio.modem === null ? '' : `, ${radio.modem}`}
              </a>
              <span class={css.amount}>{offsetText(radio.offsetDb)}</span>
              <span class="hint">
                {radioStatusText[radio.status]}, {comparedText(radio)}
              </span>
            </li>
          ))}
        </ol>
      )
    }
  </Card>
)
