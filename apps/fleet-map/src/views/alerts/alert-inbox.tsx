import { useEffect, useState } from 'preact/hooks'
import { all, post } from '../../api/client.ts'
import type { Alert, AlertState } from '../../api/schemas.ts'
import { useAction } from '../../components/action.ts'
import { actorText } from '../../components/actor.ts'
import { type Option, withChosen } from '../../components/chosen-option.ts'
import { ago, count, moment } from '../../components/format.ts'
import { RowMenu } from '../../components/menu.tsx'
import { FailureNotice } from '../../components/notice.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { useResource } from '../../components/resource.ts'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { alertCounts, refreshAlertCounts } from '../../state/alert-counts.ts'
import { holds } from '../../state/session.ts'
import { linkTo, place, setParams } from '../../state/url.ts'
import { AlertBulkBar } from './alert-bulk.tsx'
import { countMatching, type InboxFilter } from './alert-choice.ts'
import { AlertNotesDialog } from './alert-notes.tsx'
import { choiceColumn, useSelection } from './alert-selection.tsx'
import { AlertSubject, subjectName } from './alert-subject.tsx'
import { Measured, SeverityLabel, severityLabel } from './alert-text.tsx'
import { closeReasonText, kindLabels, type Severity, severities, stateLabels } from './alert-words.ts'

const states: (AlertState | 'all')[] = ['open', 'acknowledged', 'closed', 'all']

type SingleVerb = 'acknowledge' | 'close' | 'note'

/** Lists alerts by state. Open alerts can be acknowledged and closed, one by one or together. */
export function AlertInbox({ org }: { org: string }) {
  const { state = 'open', severity = '', rule = '', device = '', group = '' } = place.value.params
  const filter: InboxFilter = {
    state: state as AlertState | 'all',
    severity: severity as Severity | '',
    ruleId: rule,
    deviceId: device,
    groupId: group,
  }
  const list = usePages(`/orgs/${org}/alerts`, { ...filter, state: state === 'all' ? null : [state as AlertState] })
  const rules = useResource(`rules ${org}`, () => all(`/orgs/${org}/alert-rules`))
  const { failure, run } = useAction()
  const [done, setDone] = useState<string>()
  const [noting, setNoting] = useState<Alert>()
  const selection = useSelection(JSON.stringify([org, filter]), list.items)
  // Read the list again only when the counts change.
  const counted = JSON.stringify(alertCounts.value)
  useEffect(() => list.reload(), [counted])
  const changed = (text?: string) => {
    setDone(text)
    setNoting(undefined)
    if (text !== undefined) selection.clear()
    refreshAlertCounts()
    list.reload()
  }
  const act = async (alert: Alert, verb: SingleVerb) => {
    if (verb === 'note') return setNoting(alert)
    await run(() => post(`/orgs/${org}/alerts/${alert.id}/${verb}`))
    changed()
  }
  const isFiltered = Boolean(severity || rule || device || group)
  const mayHandle = holds(org, 'alert:acknowledge')
  const until = list.items[0]?.openedAt
  const canSelectAll = list.more && until && (state === 'open' || state === 'acknowledged')
  async function selectAll() {
    const size = await countMatching(org, filter)
    if (size !== undefined && until) selection.chooseAll({ size, filter, until })
  }
  return (
    <>
      <InboxFilters rules={rules.value ?? []} />
      <FailureNotice reason={failure} />
      {done ? (
        <p class="notice" role="status">
          {done}
        </p>
      ) : null}
      {selection.choice ? (
        <AlertBulkBar
          org={org}
          choice={selection.choice}
          canAcknowledge={selection.canAcknowledge}
          onAll={canSelectAll ? selectAll : undefined}
          onClear={selection.clear}
          onDone={changed}
        />
      ) : null}
      {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
      {list.loading && list.items.length === 0 ? <Loading /> : null}
      {!list.loading && !list.error && list.items.length === 0 ? (
        <Nothing isFiltered={isFiltered} state={state} hasRules={(rules.value?.length ?? 1) > 0} />
      ) : null}
      {list.items.length > 0 ? (
        <Table
          caption="Alerts"
          columns={mayHandle ? [choiceColumn(selection), ...columnsOf(act)] : columnsOf(undefined)}
          rows={list.items}
          keyOf={({ id }) => id}
        />
      ) : null}
      <MoreButton more={list.more} />
      {noting ? (
        <AlertNotesDialog org={org} alert={noting} onClose={() => setNoting(undefined)} onSaved={() => changed()} />
      ) : null}
    </>
  )
}

const severityOptions = severities.map((one): Option => [one, severityLabel(one)])

/** The filters of the inbox. Their values are kept in the address. */
function InboxFilters({ rules }: { rules: readonly { id: string; name: string }[] }) {
  const { state = 'open', severity = '', rule = '', device = '', group = '' } = place.value.params
  const ruleOptions = rules.map(({ id, name }): Option => [id, name])
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
        {withChosen(severityOptions, severity).map(([one, text]) => (
          <option key={one} value={one}>
            {text}
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
        {withChosen(ruleOptions, rule, () => 'Another rule').map(([id, name]) => (
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

/** The columns of the inbox; without actions for readers who may not handle alerts. */
const columnsOf = (act: ((alert: Alert, verb: SingleVerb) => void) | undefined): Column<Alert>[] => [
  {
    title: 'Alert',
    cell: (alert) => (
      <div class="stacked">
        <strong>{kindLabels[alert.kind]}</strong>
        <span class="instead">
          <SeverityLabel severity={alert.severity} />
          <span class="label">{ago(alert.openedAt)}</span>
        </span>
        <span class="label">
          <Measured alert={alert} />
        </span>
        {hasStory(alert) ? (
          <div class="instead">
            <StateCell alert={alert} />
          </div>
        ) : null}
      </div>
    ),
  },
  { title: 'Severity', cell: ({ severity }) => <SeverityLabel severity={severity} />, optional: true },
  {
    title: 'Device',
    cell: (alert) => <AlertSubject alert={alert} unnamed="Another organization’s device" />,
  },
  {
    title: 'Rule',
    cell: ({ ruleId, ruleName }) => <a href={linkTo('alerts', { tab: 'rules', rule: ruleId })}>{ruleName}</a>,
    optional: true,
  },
  {
    title: 'Opened',
    cell: ({ openedAt }) => (
      <span class="one-line" title={moment(openedAt)}>
        {ago(openedAt)}
      </span>
    ),
    optional: true,
  },
  { title: 'State', cell: (alert) => <StateCell alert={alert} />, optional: true },
  ...(act ? [actionsColumn(act)] : []),
]

const verbWords: Record<SingleVerb, string> = { acknowledge: 'Acknowledge', close: 'Close', note: 'Note' }

/** What can be done next with an alert, the usual step first. */
const verbsOf = (state: AlertState): SingleVerb[] =>
  state === 'open' ? ['acknowledge', 'close', 'note'] : state === 'acknowledged' ? ['close', 'note'] : ['note']

const actionsColumn = (act: (alert: Alert, verb: SingleVerb) => void): Column<Alert> => ({
  title: 'Actions',
  kind: 'actions',
  cell: (alert) => {
    const [usual = 'note', ...others] = verbsOf(alert.state)
    return (
      <span class="actions">
        <button type="button" class="button small" onClick={() => act(alert, usual)}>
          {verbWords[usual]}
        </button>
        {others.length > 0 ? (
          <RowMenu
            subject={`${kindLabels[alert.kind]}, ${subjectName(alert) ?? alert.ruleName}`}
            actions={others.map((verb) => ({ label: verbWords[verb], onChoose: () => act(alert, verb) }))}
          />
        ) : null}
      </span>
    )
  },
})

/** Whether somebody has done something with an alert, or it is over. */
const hasStory = ({ state, assignee, comment }: Alert): boolean => state !== 'open' || Boolean(assignee ?? comment)

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
      <span class="label">
        {alert.acknowledgedBy ? `${actorText(alert.acknowledgedBy, alert.acknowledgedByName)}, ` : ''}
        {ago(alert.acknowledgedAt)}
      </span>
    ) : null}
    {alert.assignee ? <span class="label">{alert.assignee}</span> : null}
    {alert.comment ? <span class="hint">{alert.comment}</span> : null}
  </div>
)
