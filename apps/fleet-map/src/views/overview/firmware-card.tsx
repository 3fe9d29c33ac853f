import type { DeviceCounts } from '../../api/schemas.ts'
import { count } from '../../components/format.ts'
import type { Resource } from '../../components/resource.ts'
import { Card } from './card.tsx'
import css from './overview.module.css'
import { percent } from './signal-shares.ts'

const shownVersions = 6

type Version = { label: string; devices: number; isRest?: boolean }

/** The firmware versions that devices reported last, the most frequent first. */
export const FirmwareCard = ({ counts }: { counts: Resource<DeviceCounts> }) => (
  <Card title="Firmware" area="firmware" source={counts} note="Devices by the version that they reported last">
    {(found) => {
      const versions = versionsOf(found)
      const most = Math.max(1, ...versions.map(({ devices }) => devices))
      return versions.length === 0 ? (
        <p class="panel-note">No device has reported its firmware.</p>
      ) : (
        <ul class={css.bars}>
          {versions.map(({ label, devices, isRest }) => (
            <li key={label}>
              <span class={isRest ? 'label' : undefined}>{label}</span>
              <span class={css.amount}>
                {count(devices)} <span class="label">{percent(devices / Math.max(1, found.total))}</span>
              </span>
              <div class="bar" aria-hidden="true">
                <span
                  style={{
                    width: `${(devices / most) * 100}%`,
                    background: isRest ? 'var(--line-strong)' : 'var(--accent)',
                  }}
                />
              </div>
            </li>
          ))}
        </ul>
      )
    }}
  </Card>
)

/** The most frequent versions, the others together, and the devices without one. */
function versionsOf({ total, firmware }: DeviceCounts): Version[] {
  const sum = (list: DeviceCounts['firmware']) => list.reduce((all, { devices }) => all + devices, 0)
  const others = firmware.slice(shownVersions)
  const missing = total - sum(firmware)
  const rest = [
    { label: `${count(others.length)} other versions`, devices: sum(others), isRest: true },
    { label: 'Not reported', devices: missing, isRest: true },
  ]
  const shown = firmware.slice(0, shownVersions).map(({ value, devices }) => ({ label: value, devices }))
  return firmware.length === 0 ? [] : [...shown, ...rest.filter(({ devices }) => devices > 0)]
}
