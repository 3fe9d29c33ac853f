import { useState } from 'preact/hooks'
import type { Condition } from '../../api/schemas.ts'
import { count } from '../../components/format.ts'
import { linkTo } from '../../state/url.ts'
import { severityLabel } from './alert-text.tsx'
import { type AlertKind, kindLabels, severities } from './alert-words.ts'
import { chatKindLabels } from './chat-kinds.ts'
import { QuietHoursFields } from './quiet-hours-fields.tsx'
import type { RuleBody, RuleTargets } from './rule-form.ts'

/** The fields of a rule. `readRuleForm` reads them. */
export function RuleFields({ rule, targets }: { rule: RuleBody; targets: RuleTargets }) {
  const [kind, setKind] = useState<AlertKind>(rule.condition.kind)
  // The values of the rule belong to its own kind; another kind starts with common values.
  const condition = kind === rule.condition.kind ? rule.condition : initialConditions[kind]
  return (
    <>
      <label class="field">
        <span>Name</span>
        <input class="input" name="name" required maxLength={200} defaultValue={rule.name} />
      </label>
      <div class="pair">
        <label class="field">
          <span>Condition</span>
          <select
            class="input"
            name="kind"
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value as AlertKind)}
          >
            {Object.entries(kindLabels).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          <span>Severity</span>
          <select class="input" name="severity">
            {severities.map((severity) => (
              <option key={severity} value={severity} selected={severity === rule.severity}>
                {severityLabel(severity)}
              </option>
            ))}
          </select>
        </label>
      </div>
      <ConditionFields key={kind} condition={condition} targets={targets} />
      {kind === 'webhook_disabled' ? null : <ScopeFields rule={rule} groups={targets.groups} />}
      <ChannelFields channels={rule.channels} chats={targets.chats} />
      <QuietHoursFields quietHours={rule.quietHours} />
      <label class="choice">
        <input type="checkbox" name="enabled" defaultChecked={rule.enabled} />
        <span>Enabled</span>
      </label>
    </>
  )
}

const initialConditions: Record<AlertKind, Condition> = {
  offline: { kind: 'offline', forMinutes: 30 },
  no_fix: { kind: 'no_fix', forMinutes: 30 },
  weak_signal: { kind: 'weak_signal', rsrpBelowDbm: -115, forMinutes: 10 },
  high_temperature: { kind: 'high_temperature', temperatureAboveC: 75, forMinutes: 10 },
  low_voltage: { kind: 'low_voltage', voltageBelowV: 11.5, forMinutes: 10 },
  modem_down: { kind: 'modem_down', forMinutes: 30 },
  radio_fault: { kind: 'radio_fault' },
  job_failed: { kind: 'job_failed' },
  profile_not_applied: { kind: 'profile_not_applied', forMinutes: 60 },
  config_differs: { kind: 'config_differs', forMinutes: 5 },
  rebooted: { kind: 'rebooted' },
  sim_changed: { kind: 'sim_changed' },
  operator_changed: { kind: 'operator_changed' },
  entered_place: { kind: 'entered_place', placeId: '', forMinutes: 5 },
  left_place: { kind: 'left_place', placeId: '', forMinutes: 5 },
  data_use: { kind: 'data_use', aboveMegabytes: 1_000, period: 'day' },
  webhook_disabled: { kind: 'webhook_disabled', forMinutes: 0 },
}

/** Chooses the devices of a rule. */
const ScopeFields = ({ rule, groups }: { rule: RuleBody; groups: RuleTargets['groups'] }) => (
  <div class="pair">
    <label class="field">
      <span>Group</span>
      <select class="input" name="groupId">
        <option value="">All devices</option>
        {groups.map(({ id, name, effectiveDeviceCount }) => (
          <option key={id} value={id} selected={id === rule.groupId}>
            {name} ({count(effectiveDeviceCount)})
          </option>
        ))}
        {rule.groupId && !groups.some(({ id }) => id === rule.groupId) ? (
          <option value={rule.groupId} selected>
            Another group
          </option>
        ) : null}
      </select>
    </label>
    <label class="field">
      <span>Only with all of these tags</span>
      <input class="input" name="tags" placeholder="Any" defaultValue={rule.tags.join(', ')} />
    </label>
  </div>
)

/** Chooses who hears of alerts. */
const ChannelFields = ({ channels, chats }: Pick<RuleBody, 'channels'> & Pick<RuleTargets, 'chats'>) => (
  <>
    <label class="field">
      <span>Send e-mail to (at most 10 addresses, separated by commas)</span>
      <input
        class="input"
        name="emails"
        placeholder="No e-mail"
        inputMode="email"
        defaultValue={channels.emails.join(', ')}
      />
    </label>
    {chats.map(({ id, name, kind }) => (
      <label key={id} class="choice">
        <input type="checkbox" name="chat" value={id} defaultChecked={channels.chats.includes(id)} />
        <span>
          Send to {name}
          <span class="hint"> on {chatKindLabels[kind]}</span>
        </span>
      </label>
    ))}
    <label class="choice">
      <input type="checkbox" name="webhook" defaultChecked={channels.webhook} />
      <span>
        Send to webhooks
        <span class="hint"> that subscribe to alert.opened and alert.closed</span>
      </span>
    </label>
  </>
)

/** The bounds that the service accepts for the minutes of each kind. */
const minuteBounds: Partial<Record<AlertKind, [min: number, max: number]>> = {
  offline: [5, 10_080],
  no_fix: [5, 10_080],
  weak_signal: [1, 360],
  high_temperature: [1, 360],
  low_voltage: [1, 360],
  modem_down: [5, 360],
  profile_not_applied: [5, 10_080],
  config_differs: [0, 10_080],
  webhook_disabled: [0, 10_080],
  entered_place: [0, 10_080],
  left_place: [0, 10_080],
}

const momentHints = {
  rebooted: 'The alert closes 24 hours after the last restart.',
  sim_changed: 'A SIM that the modem did not have in the 24 hours before. The alert closes after 24 hours.',
  operator_changed:
    'An operator that the modem did not have in the 24 hours before. Another cell of the same operator does not count. The alert closes after 24 hours.',
}

function ConditionFields({ condition, targets }: { condition: Condition; targets: RuleTargets }) {
  const number = (name: string, label: string, value: number, low: number, high: number) => (
    <label class="field">
      <span>{label}</span>
      <input class="input" type="number" name={name} required min={low} max={high} step="any" defaultValue={value} />
    </label>
  )
  const minutes = 'forMinutes' in condition ? <MinutesField {...condition} /> : null
  switch (condition.kind) {
    case 'weak_signal':
      return (
        <div class="pair">
          {number('rsrpBelowDbm', 'RSRP below (dBm), or no service', condition.rsrpBelowDbm, -156, -31)}
          {minutes}
        </div>
      )
    case 'high_temperature':
      return (
        <div class="pair">
          {number('temperatureAboveC', 'Temperature above (°C)', condition.temperatureAboveC, -60, 150)}
          {minutes}
        </div>
      )
    case 'low_voltage':
      return (
        <div class="pair">
          {number('voltageBelowV', 'Supply voltage below (V)', condition.voltageBelowV, 0, 1000)}
          {minutes}
        </div>
      )
    case 'rebooted':
    case 'sim_changed':
    case 'operator_changed':
      return <p class="hint">{momentHints[condition.kind]}</p>
    case 'data_use':
      return (
        <div class="pair">
          {number('aboveMegabytes', 'More than (MB)', condition.aboveMegabytes, 1, 1_000_000_000)}
          <label class="field">
            <span>Per</span>
            <select class="input" name="period">
              {(['day', 'month'] as const).map((period) => (
                <option key={period} value={period} selected={period === condition.period}>
                  {period === 'day' ? 'Day (UTC)' : 'Month (UTC)'}
                </option>
              ))}
            </select>
          </label>
        </div>
      )
    case 'entered_place':
    case 'left_place':
      return (
        <>
          <div class="pair">
            <PlaceField places={targets.places} chosen={condition.placeId} />
            {minutes}
          </div>
          {targets.places.length === 0 ? (
            <p class="notice">
              There are no places yet. <a href={linkTo('alerts', { tab: 'places', place: 'new' })}>Draw a place</a>{' '}
              first.
            </p>
          ) : null}
        </>
      )
    default:
      return minutes
  }
}

function MinutesField({ kind, forMinutes }: { kind: AlertKind; forMinutes: number }) {
  const [min, max] = minuteBounds[kind] ?? [0, 0]
  return (
    <label class="field">
      <span>For at least (minutes)</span>
      <input
        class="input"
        type="number"
        name="forMinutes"
        required
        min={min}
        max={max}
        step={1}
        defaultValue={forMinutes}
      />
    </label>
  )
}

const PlaceField = ({ places, chosen }: { places: RuleTargets['places']; chosen: string }) => (
  <label class="field">
    <span>Place</span>
    <select class="input" name="placeId" required>
      {places.map(({ id, name }) => (
        <option key={id} value={id} selected={id === chosen}>
          {name}
        </option>
      ))}
    </select>
  </label>
)
