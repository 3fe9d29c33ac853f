import { nearText } from '#client/near'
import type { DeadZone } from '../../api/schemas.ts'
import { ago, duration, plural } from '../../components/format.ts'
import type { Resource } from '../../components/resource.ts'
import { linkTo } from '../../state/url.ts'
import { Card } from './card.tsx'
import css from './overview.module.css'

type DeadZoneCardProps = { zones: Resource<{ items: DeadZone[] }>; nameOf: (plmn: string) => string }

/** The dead zones with the longest time without service. Each opens on the map. */
export const DeadZoneCard = ({ zones, nameOf }: DeadZoneCardProps) => (
  <Card title="Worst dead zones" area="zones" source={zones} note="By time without service. Towns: GeoNames">
    {({ items }) =>
      items.length === 0 ? (
        <p class="panel-note">No dead zones found in the measured area.</p>
      ) : (
        <>
          <ol class={css.bars}>
            {items.map((zone) => (
              <li key={zone.id}>
                <a href={linkTo('map', { panel: 'dead-zones', zone: zone.id }, ['org', 'tag', 'window'])}>
                  {zone.near ? nearText(zone.near) : positionText(zone)}
                </a>
                <span class={css.amount}>{zone.noServiceS > 0 ? duration(zone.noServiceS) : 'Weak signal'}</span>
                <span class="hint">
                  {zone.areaKm2.toFixed(1)} km², {plural(zone.devices, 'device')}, measured {ago(zone.lastAt)}
                  {zone.bestPlmn ? `, best with ${nameOf(zone.bestPlmn)}` : ''}
                </span>
              </li>
            ))}
          </ol>
          <a class={css.more} href={linkTo('map', { panel: 'dead-zones' }, ['org', 'tag', 'window'])}>
            All dead zones
          </a>
        </>
      )
    }
  </Card>
)

const positionText = ({ lat, lon }: DeadZone): string =>
  `${Math.abs(lat).toFixed(3)}° ${lat < 0 ? 'S' : 'N'}, ${Math.abs(lon).toFixed(3)}° ${lon < 0 ? 'W' : 'E'}`
