import type { DeviceCounts, DeviceStatus } from '../../api/schemas.ts'
import { count } from '../../components/format.ts'
import { deviceStatuses, statusColor, statusLabel } from '../../components/label-text.ts'
import type { Resource } from '../../components/resource.ts'
import { linkTo } from '../../state/url.ts'
import { Card } from './card.tsx'
import css from './overview.module.css'
import { percent } from './signal-shares.ts'

/** Devices that report are online, or online with a fault. */
const reporting: DeviceStatus[] = ['online', 'error']
/** These are not expected to report. */
const unexpected: DeviceStatus[] = ['disabled', 'provisioning']

/** The share of devices that report, among those that are expected to, and the number of devices in each status. */
export const OnlineCard = ({ counts }: { counts: Resource<DeviceCounts> }) => (
  <Card title="Online now" area="online" source={counts}>
    {({ total, status }) => {
      const sum = (statuses: readonly DeviceStatus[]) => statuses.reduce((all, one) => all + (status[one] ?? 0), 0)
      const expected = total - sum(unexpected)
      return (
        <>
          <p class={css.figure}>
            <strong>{expected > 0 ? percent(sum(reporting) / expected) : '–'}</strong>
            <span class="label">
              {count(sum(reporting))} of {count(expected)} {expected === 1 ? 'device reports' : 'devices report'}
            </span>
          </p>
          <div class="bar" aria-hidden="true">
            {deviceStatuses.map((one) => (
              <span
                key={one}
                style={{ width: `${((status[one] ?? 0) / Math.max(1, total)) * 100}%`, background: statusColor(one) }}
              />
            ))}
          </div>
          <ul class={css.statuses}>
            {deviceStatuses.map((one) => (
              <li key={one}>
                <span class="swatch" style={{ background: statusColor(one) }} />
                <a href={linkTo('devices', { status: one }, ['org', 'tag'])}>{statusLabel(one)}</a>
                <span class={css.amount}>{count(status[one] ?? 0)}</span>
              </li>
            ))}
          </ul>
        </>
      )
    }}
  </Card>
)
