import { useState } from 'preact/hooks'
import { all, patch, post, remove } from '../../api/client.ts'
import type { AlertAddress, ChatChannel } from '../../api/schemas.ts'
import { useAction } from '../../components/action.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ago } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { FailureNotice } from '../../components/notice.tsx'
import { useResource } from '../../components/resource.ts'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { holds } from '../../state/session.ts'
import { linkTo } from '../../state/url.ts'
import { ChannelDialog } from './channel-dialog.tsx'
import { chatKindLabels } from './chat-kinds.ts'

type LastMessage = ChatChannel['lastTest']

const waitingMs = 1_000
const refreshMs = 30_000

/** Reads a list again, every second while the result of a test is due. */
function useTested<Item extends { lastTest: LastMessage }>(key: string, read: () => Promise<Item[]>) {
  const [isWaiting, setWaiting] = useState(false)
  const list = useResource(
    key,
    async () => {
      const items = await read()
      setWaiting(items.some(({ lastTest }) => lastTest?.state === 'waiting'))
      return items
    },
    { everyMs: isWaiting ? waitingMs : refreshMs },
  )
  return list
}

/** The channels on which alerts reach people: chat, e-mail and webhooks. Each can be tested. */
export const AlertChannels = ({ org }: { org: string }) => (
  <>
    <ChatChannels org={org} />
    <Addresses org={org} />
    <p class="notice">
      Programs receive alerts by webhook. <a href={linkTo('settings', { section: 'webhooks' })}>Webhooks</a> are in the
      settings and have a test of their own.
    </p>
  </>
)

type Opened = { what: 'create' } | { what: 'edit' | 'remove'; channel: ChatChannel }

function ChatChannels({ org }: { org: string }) {
  const path = `/orgs/${org}/chat-channels` as const
  const list = useTested(`chat channels ${org}`, () => all(path))
  const { busy, failure, run } = useAction()
  const [opened, setOpened] = useState<Opened>()
  const mayManage = holds(org, 'webhook:manage')
  const close = () => setOpened(undefined)
  const done = () => {
    close()
    list.reload()
  }
  const sendTest = ({ id }: ChatChannel) =>
    run(async () => {
      await post(`${path}/${id}/test`)
      list.reload()
    })
  const columns: Column<ChatChannel>[] = [
    {
      title: 'Channel',
      cell: ({ name, kind, host }) => (
        <div class="stacked">
          <strong>{name}</strong>
          <span class="label">
            {chatKindLabels[kind]}, {host}
          </span>
        </div>
      ),
    },
    { title: 'Last test', cell: ({ lastTest }) => <MessageState message={lastTest} /> },
    { title: 'Last alert', cell: ({ lastAlert }) => <MessageState message={lastAlert} />, optional: true },
    ...(mayManage ? [actionsColumn(busy, sendTest, setOpened)] : []),
  ]
  return (
    <section class="stack" aria-label="Chat">
      <div class="toolbar">
        <h2 class="grow">Chat</h2>
        {mayManage ? (
          <button type="button" class="button primary" onClick={() => setOpened({ what: 'create' })}>
            <Icon name="plus" size={16} /> New channel
          </button>
        ) : null}
      </div>
      <FailureNotice reason={failure} />
      {list.error && !list.value ? <Failure error={list.error} retry={list.reload} /> : null}
      {list.loading && !list.value ? <Loading /> : null}
      {list.value?.length === 0 ? (
        <Empty title="No chat channels yet">
          <p>Add an incoming webhook of Slack, Microsoft Teams or Mattermost, and choose it in a rule.</p>
        </Empty>
      ) : null}
      {list.value?.length ? (
        <Table caption="Chat channels" columns={columns} rows={list.value} keyOf={({ id }) => id} />
      ) : null}
      {opened ? <OpenedChannel path={path} opened={opened} onClose={close} onDone={done} /> : null}
    </section>
  )
}

type OpenedChannelProps = {
  path: `/orgs/${string}/chat-channels`
  opened: Opened
  onClose: () => void
  onDone: () => void
}

function OpenedChannel({ path, opened, onClose, onDone }: OpenedChannelProps) {
  if (opened.what === 'create')
    return (
      <ChannelDialog
        title="New chat channel"
        onClose={onClose}
        onSave={async (body) => {
          await post(path, { body })
          onDone()
        }}
      />
    )
  const { id, name } = opened.channel
  if (opened.what === 'edit')
    return (
      <ChannelDialog
        title={`Edit ${name}`}
        channel={opened.channel}
        onClose={onClose}
        onSave={async ({ name: changed, url }) => {
          await patch(`${path}/${id}`, { body: { name: changed, ...(url ? { url } : {}) } })
          onDone()
        }}
      />
    )
  return (
    <Dialog
      title={`Delete the channel ${name}?`}
      submitLabel="Delete"
      danger
      onClose={onClose}
      onSubmit={async () => {
        await remove(`${path}/${id}`)
        onDone()
      }}
    >
      <p>Messages that wait are deleted too.</p>
    </Dialog>
  )
}

const actionsColumn = (
  busy: boolean,
  sendTest: (channel: ChatChannel) => void,
  open: (opened: Opened) => void,
): Column<ChatChannel> => ({
  title: 'Actions',
  kind: 'actions',
  cell: (channel) => (
    <span class="actions">
      <button type="button" class="button small" disabled={busy} onClick={() => sendTest(channel)}>
        Send a test<span class="visually-hidden"> to {channel.name}</span>
      </button>
      <button type="button" class="button quiet small" onClick={() => open({ what: 'edit', channel })}>
        Edit<span class="visually-hidden"> {channel.name}</span>
      </button>
      <button type="button" class="button quiet small" onClick={() => open({ what: 'remove', channel })}>
        Delete<span class="visually-hidden"> {channel.name}</span>
      </button>
    </span>
  ),
})

const addressStates: Record<AlertAddress['state'], string> = {
  waiting: 'Waits for a confirmation',
  confirmed: 'Confirmed',
  refused: 'Refused',
}

function Addresses({ org }: { org: string }) {
  const list = useTested(`alert addresses ${org}`, () => all(`/orgs/${org}/alert-addresses`))
  const { busy, failure, run } = useAction()
  const mayTest = holds(org, 'alert:write')
  const sendTest = (email: string) =>
    run(async () => {
      await post(`/orgs/${org}/alert-address-tests`, { body: { email } })
      list.reload()
    })
  const columns: Column<AlertAddress>[] = [
    { title: 'Address', cell: ({ email }) => email },
    { title: 'State', cell: ({ state }) => addressStates[state] },
    { title: 'Last test', cell: ({ lastTest }) => <MessageState message={lastTest} /> },
    {
      title: 'Actions',
      kind: 'actions',
      cell: ({ email, state }) =>
        mayTest && state === 'confirmed' ? (
          <button type="button" class="button small" disabled={busy} onClick={() => sendTest(email)}>
            Send a test<span class="visually-hidden"> to {email}</span>
          </button>
        ) : null,
    },
  ]
  return (
    <section aria-label="E-mail">
      <div class="toolbar">
        <h2 class="grow">E-mail</h2>
      </div>
      <FailureNotice reason={failure} />
      {list.error && !list.value ? <Failure error={list.error} retry={list.reload} /> : null}
      {list.value?.length === 0 ? <p class="label">No rule names an e-mail address.</p> : null}
      {list.value?.length ? (
        <Table caption="E-mail addresses" columns={columns} rows={list.value} keyOf={({ email }) => email} />
      ) : null}
    </section>
  )
}

const messageStates = { waiting: 'Sending …', sent: 'Sent', failed: 'Failed' }

/** The state of the last message, with the reason of a failure. */
const MessageState = ({ message }: { message: LastMessage }) =>
  message === null ? (
    '–'
  ) : (
    <div class="stacked">
      <span>
        {messageStates[message.state]}
        {message.state === 'waiting' ? '' : `, ${ago(message.at)}`}
      </span>
      {message.error ? <span class="label">{message.error}</span> : null}
    </div>
  )
