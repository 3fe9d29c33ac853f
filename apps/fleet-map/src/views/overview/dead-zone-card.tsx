import type { DeadZone, Page } from '../../api/types.ts'
import { ago, duration, plural } from '../../components/format.ts'
import type { Resource } from '../../components/resource.ts'
import { linkTo } from '../../state/url.ts'
import { Card } from './card.tsx'

type DeadZoneCardProps = { zones: Resource<Page<DeadZone>>; nameOf: (plmn: string) => string }

/** The dead zones with the longest time without service. Each opens on the map. */
export const DeadZoneCard = ({ zones, nameOf }: DeadZoneCardProps) => (
  <Card title="Worst dead zones" area="zones" source={zones} note="By time without service">
    {({ items }) =>
      items.length === 0 ? (
        <p class="panel-note">No dead zones found in the measured area.</p>
      ) : (
        <>
          <ol class="bars">
            {items.map((zone) => (
              <li key={zone.id}>
                <a href={linkTo('map', { panel: 'dead-zones', zone: zone.id }, ['org', 'tag', 'window'])}>
                  {positionText(zone)}
                </a>
                <span class="amount">{zone.noServiceS > 0 ? duration(zone.noServiceS) : 'Weak signal'}</span>
                <span class="hint">
                  {zone.areaKm2.toFixed(1)} km², {plural(zone.devices, 'device')}, measured {ago(zone.lastAt)}
                  {zone.bestPlmn ? `, best with ${nameOf(zone.bestPlmn)}` : ''}
                </span>
              </li>
            ))}
          </ol>
          <a class="more" href={linkTo('map', { panel: 'dead-zones' }, ['org', 'tag', 'window'])}>
            All dead zones
          </a>
        </>
      )
    }
  </Card>
)

const positionText = ({ lat, lon }: DeadZone): string =>
  `${Math.abs(lat).toFixed(3)}° ${lat < 0 ? 'S' : 'N'}, ${Math.abs(lon).toFixed(3)}° ${lon < 0 ? 'W' : 'E'}`
