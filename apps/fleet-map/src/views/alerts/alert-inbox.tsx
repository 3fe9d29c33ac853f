import { useEffect, useState } from 'preact/hooks'
import { ApiError, all, post } from '../../api/client.ts'
import type { Alert, AlertState } from '../../api/schemas.ts'
import { ago, count, moment } from '../../components/format.ts'
import { FailureNotice } from '../../components/notice.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { useResource } from '../../components/resource.ts'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { alertCounts, refreshAlertCounts } from '../../state/alert-counts.ts'
import { linkTo, place, setParams } from '../../state/url.ts'
import {
  closeReasonText,
  kindLabels,
  measuredText,
  type Severity,
  SeverityLabel,
  severities,
  severityLabel,
  stateLabels,
} from './alert-text.tsx'

const states: (AlertState | 'all')[] = ['open', 'acknowledged', 'closed', 'all']

/** Lists alerts by state. Open alerts can be acknowledged and closed. */
export function AlertInbox({ org }: { org: string }) {
  const { state = 'open', severity = '', rule = '', device = '', group = '' } = place.value.params
  const list = usePages(`/orgs/${org}/alerts`, {
    state: state === 'all' ? null : [state as AlertState],
    severity: severity as Severity | '',
    ruleId: rule,
    deviceId: device,
    groupId: group,
  })
  const rules = useResource(`rules ${org}`, () => all(`/orgs/${org}/alert-rules`))
  const [error, setError] = useState<ApiError>()
  // Read the list again only when the counts change.
  const counted = JSON.stringify(alertCounts.value)
  useEffect(() => list.reload(), [counted])
  const act = async (alert: Alert, verb: 'acknowledge' | 'close') => {
    setError(undefined)
    try {
      await post(`/orgs/${org}/alerts/${alert.id}/${verb}`)
    } catch (failure) {
      if (failure instanceof ApiError) setError(failure)
    }
    refreshAlertCounts()
    list.reload()
  }
  const isFiltered = Boolean(severity || rule || device || group)
  return (
    <>
      <InboxFilters rules={rules.value ?? []} />
      <FailureNotice reason={error?.message} />
      {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
      {list.loading && list.items.length === 0 ? <Loading /> : null}
      {!list.loading && !list.error && list.items.length === 0 ? (
        <Nothing isFiltered={isFiltered} state={state} hasRules={(rules.value?.length ?? 1) > 0} />
      ) : null}
      {list.items.length > 0 ? (
        <Table caption="Alerts" columns={columnsOf(act)} rows={list.items} keyOf={({ id }) => id} />
      ) : null}
      <MoreButton more={list.more} />
    </>
  )
}

/** The filters of the inbox. Their values are kept in the address. */
function InboxFilters({ rules }: { rules: readonly { id: string; name: string }[] }) {
  const { state = 'open', severity = '', rule = '', device = '', group = '' } = place.value.params
  const counts = alertCounts.value
  const numberIn = (one: string) =>
    one === 'open' ? counts?.open : one === 'acknowledged' ? counts?.acknowledged : undefined
  return (
    <div class="toolbar">
      <fieldset class="plain segmented" aria-label="State">
        {states.map((one) => {
          const number = numberIn(one)
          return (
            <button
              key={one}
              type="button"
              aria-pressed={state === one}
              onClick={() => setParams({ state: one === 'open' ? null : one })}
            >
              {one === 'all' ? 'All' : stateLabels[one]}
              {number === undefined ? '' : ` (${count(number)})`}
            </button>
          )
        })}
      </fieldset>
      <select
        class="input"
        aria-label="Severity"
        value={severity}
        onChange={(event) => setParams({ severity: event.currentTarget.value || null })}
      >
        <option value="">Any severity</option>
        {severities.map((one) => (
          <option key={one} value={one}>
            {severityLabel(one)}
          </option>
        ))}
      </select>
      <select
        class="input"
        aria-label="Rule"
        value={rule}
        onChange={(event) => setParams({ rule: event.currentTarget.value || null })}
      >
        <option value="">Any rule</option>
        {rules.map(({ id, name }) => (
          <option key={id} value={id}>
            {name}
          </option>
        ))}
      </select>
      {device ? (
        <button type="button" class="button small" onClick={() => setParams({ device: null })}>
          One device only: show all
        </button>
      ) : null}
      {group ? (
        <button type="button" class="button small" onClick={() => setParams({ group: null })}>
          One group only: show all
        </button>
      ) : null}
    </div>
  )
}

const Nothing = ({ isFiltered, state, hasRules }: { isFiltered: boolean; state: string; hasRules: boolean }) =>
  hasRules ? (
    <Empty title={isFiltered ? 'No matching alerts' : state === 'open' ? 'No open alerts' : 'No alerts'}>
      <p>{isFiltered ? 'Change the filters.' : 'Alerts appear here when the condition of a rule holds on a device.'}</p>
    </Empty>
  ) : (
    <Empty title="No rules yet">
      <p>A rule watches devices and opens an alert, for example when a device has not reported for 30 minutes.</p>
      <a class="button primary" href={linkTo('alerts', { tab: 'rules' })}>
        Create a rule
      </a>
    </Empty>
  )

const columnsOf = (act: (alert: Alert, verb: 'acknowledge' | 'close') => void): Column<Alert>[] => [
  {
    title: 'Alert',
    cell: (alert) => (
      <div class="stacked">
        <strong>{kindLabels[alert.kind]}</strong>
        <span class="label">{measuredText(alert)}</span>
      </div>
    ),
  },
  { title: 'Severity', cell: ({ severity }) => <SeverityLabel severity={severity} />, optional: true },
  {
    title: 'Device',
    cell: ({ deviceId, deviceName }) =>
      deviceName === null ? (
        'Another organization’s device'
      ) : (
        <a href={linkTo('device', { id: deviceId })}>{deviceName}</a>
      ),
  },
  {
    title: 'Rule',
    cell: ({ ruleId, ruleName }) => <a href={linkTo('alerts', { tab: 'rules', rule: ruleId })}>{ruleName}</a>,
    optional: true,
  },
  { title: 'Opened', cell: ({ openedAt }) => <span title={moment(openedAt)}>{ago(openedAt)}</span>, optional: true },
  { title: 'State', cell: (alert) => <StateCell alert={alert} />, optional: true },
  {
    title: 'Actions',
    kind: 'actions',
    cell: (alert) =>
      alert.state === 'closed' ? null : (
        <span class="actions">
          {alert.state === 'open' ? (
            <button type="button" class="button small" onClick={() => act(alert, 'acknowledge')}>
              Acknowledge
            </button>
          ) : null}
          <button type="button" class="button quiet small" onClick={() => act(alert, 'close')}>
            Close
          </button>
        </span>
      ),
  },
]

const StateCell = ({ alert }: { alert: Alert }) => (
  <div class="stacked">
    <span>{stateLabels[alert.state]}</span>
    {alert.state === 'closed' ? (
      <span class="label">
        {closeReasonText(alert.closeReason)}
        {alert.closedAt ? `, ${ago(alert.closedAt)}` : ''}
      </span>
    ) : null}
    {alert.state === 'acknowledged' && alert.acknowledgedAt ? (
      <span class="label" title={alert.acknowledgedBy ?? ''}>
        {ago(alert.acknowledgedAt)}
      </span>
    ) : null}
  </div>
)
