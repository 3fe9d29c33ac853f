import { useState } from 'preact/hooks'
import { ApiError, all, patch, remove } from '../../api/client.ts'
import type { AlertRule } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Icon } from '../../components/icon.tsx'
import { FailureNotice } from '../../components/notice.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { useResource } from '../../components/resource.ts'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { holds, type Scope } from '../../state/session.ts'
import { place, setParams } from '../../state/url.ts'
import { SeverityLabel } from './alert-text.tsx'
import { conditionText } from './alert-words.ts'
import { MissingMailServer } from './missing-mail-server.tsx'
import { RuleDialog } from './rule-dialog.tsx'
import type { RuleTargets } from './rule-form.ts'
import { UnconfirmedEmails } from './unconfirmed-emails.tsx'

/** Lists the rules; creates, edits, enables, disables and deletes them. */
export function AlertRules({ org }: { org: string }) {
  const list = usePages(`/orgs/${org}/alert-rules`, {})
  const { value: targets } = useResource(`rule targets ${org}`, () => readTargets(org))
  const [adding, setAdding] = useState(false)
  const [deleting, setDeleting] = useState<AlertRule>()
  const [error, setError] = useState<ApiError>()
  const opened = place.value.params.rule
  const close = () => {
    setAdding(false)
    setDeleting(undefined)
    setParams({ rule: null }, { replace: true })
  }
  const saved = () => {
    close()
    list.reload()
  }
  const toggle = async (rule: AlertRule) => {
    setError(undefined)
    try {
      await patch(`/orgs/${org}/alert-rules/${rule.id}`, { body: { enabled: !rule.enabled } })
    } catch (failure) {
      if (failure instanceof ApiError) setError(failure)
    }
    list.reload()
  }
  const mayWrite = holds(org, 'alert:write')
  const isEmpty = !list.loading && !list.error && list.items.length === 0
  return (
    <>
      <div class="toolbar">
        <p class="label grow">A rule opens one alert for each device on which its condition holds.</p>
        {mayWrite ? (
          <button type="button" class="button primary" onClick={() => setAdding(true)}>
            <Icon name="plus" size={16} /> New rule
          </button>
        ) : null}
      </div>
      <FailureNotice reason={error?.message} />
      {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
      {list.loading && list.items.length === 0 ? <Loading /> : null}
      {isEmpty ? (
        <Empty title="No rules yet">
          <p>
            Rules watch for devices that stop reporting, weak signal, high temperature, data use, and places that
            devices enter or leave.
          </p>
        </Empty>
      ) : null}
      <MissingMailServer rules={list.items} />
      <UnconfirmedEmails org={org} rules={list.items} />
      {list.items.length > 0 ? (
        <Table
          caption="Alert rules"
          columns={columnsOf(targets, mayWrite ? { toggle, remove: setDeleting } : undefined)}
          rows={list.items}
          keyOf={({ id }) => id}
        />
      ) : null}
      <MoreButton more={list.more} />
      {mayWrite && (adding || opened) && targets ? (
        <RuleDialog key={opened ?? ''} org={org} id={opened} targets={targets} onClose={close} onSaved={saved} />
      ) : null}
      {deleting ? (
        <Dialog
          title={`Delete the rule ${deleting.name}?`}
          submitLabel="Delete"
          danger
          onClose={close}
          onSubmit={async () => {
            await remove(`/orgs/${org}/alert-rules/${deleting.id}`)
            saved()
          }}
        >
          <p>Its open alerts are closed. They stay in the inbox.</p>
        </Dialog>
      ) : null}
    </>
  )
}

async function readTargets(org: string): Promise<RuleTargets> {
  // A key can lack one of the scopes; the form then offers fewer choices.
  const orNone = <Item,>(scope: Scope, read: () => Promise<Item[]>) =>
    holds(org, scope) ? read().catch(() => []) : Promise.resolve([])
  const [groups, places, chats] = await Promise.all([
    orNone('group:read', () => all(`/orgs/${org}/groups`)),
    orNone('fleet:read', () => all(`/orgs/${org}/places`)),
    orNone('alert:read', () => all(`/orgs/${org}/chat-channels`)),
  ])
  return { groups, places, chats }
}

function columnsOf(
  targets: RuleTargets | undefined,
  changes: { toggle: (rule: AlertRule) => void; remove: (rule: AlertRule) => void } | undefined,
): Column<AlertRule>[] {
  const nameIn = (list: readonly { id: string; name: string }[] | undefined, id: string, fallback: string) =>
    list?.find((item) => item.id === id)?.name ?? fallback
  const chatName = (id: string) => nameIn(targets?.chats, id, 'a chat channel')
  const placeName = (id: string) => nameIn(targets?.places, id, 'a place')
  return [
    {
      title: 'Rule',
      cell: ({ id, name, condition, severity }) => (
        <div class="stacked">
          {changes ? (
            <button type="button" class="link" onClick={() => setParams({ rule: id })}>
              {name}
            </button>
          ) : (
            <strong>{name}</strong>
          )}
          <span class="label">{conditionText(condition, placeName)}</span>
          <span class="instead">
            <SeverityLabel severity={severity} />
          </span>
        </div>
      ),
    },
    { title: 'Severity', cell: ({ severity }) => <SeverityLabel severity={severity} />, optional: true },
    {
      title: 'Devices',
      cell: ({ groupId, tags }) =>
        [
          groupId === null ? 'All devices' : nameIn(targets?.groups, groupId, 'Deleted group'),
          ...(tags.length > 0 ? [`with ${tags.join(' and ')}`] : []),
        ].join(' '),
      optional: true,
    },
    { title: 'Notify', cell: ({ channels }) => channelText(channels, chatName), optional: true },
    {
      title: 'Quiet hours',
      cell: ({ quietHours }) =>
        quietHours ? <span class="one-line">{`${quietHours.from} to ${quietHours.to}`}</span> : '–',
      optional: true,
    },
    {
      title: 'Enabled',
      cell: (rule) => (
        <input
          type="checkbox"
          role="switch"
          aria-checked={rule.enabled}
          aria-label={`${rule.name} is enabled`}
          checked={rule.enabled}
          disabled={!changes}
          onChange={() => changes?.toggle(rule)}
        />
      ),
    },
    ...(changes ? [deleteColumn(changes.remove)] : []),
  ]
}

const deleteColumn = (remove: (rule: AlertRule) => void): Column<AlertRule> => ({
  title: 'Actions',
  kind: 'actions',
  cell: (rule) => (
    <button type="button" class="button quiet small" onClick={() => remove(rule)}>
      Delete
    </button>
  ),
})

function channelText({ webhook, emails, chats }: AlertRule['channels'], chatName: (id: string) => string): string {
  const channels = [...(webhook ? ['Webhooks'] : []), ...chats.map(chatName), ...emails]
  return channels.length > 2
    ? `${channels.slice(0, 2).join(', ')} and ${channels.length - 2} more`
    : channels.join(', ') || 'Inbox only'
}
