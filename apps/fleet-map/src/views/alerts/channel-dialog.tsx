import { useState } from 'preact/hooks'
import type { ChatChannel } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { chatKindLabels } from './chat-kinds.ts'

type ChatKind = ChatChannel['kind']

const howTo: Record<ChatKind, string> = {
  slack: 'In Slack: create an app, activate incoming webhooks, add one to the channel and copy its URL.',
  teams:
    'In Teams: open Workflows for the channel, choose “Send webhook alerts to a channel” and copy the URL of the workflow.',
  mattermost: 'In Mattermost: Integrations, Incoming webhooks, add one for the channel and copy its URL.',
}

type ChannelDialogProps = {
  title: string
  /** The channel to edit; undefined creates one. */
  channel?: ChatChannel
  onClose: () => void
  onSave: (body: { name: string; kind: ChatKind; url: string }) => Promise<void>
}

/** Asks for the name, the service and the URL of a chat channel. A stored URL is not shown again. */
export function ChannelDialog({ title, channel, onClose, onSave }: ChannelDialogProps) {
  const [kind, setKind] = useState<ChatKind>(channel?.kind ?? 'slack')
  return (
    <Dialog
      title={title}
      submitLabel={channel ? 'Save' : 'Create'}
      onClose={onClose}
      onSubmit={(form) => {
        const text = (name: string) => String(form.get(name) ?? '').trim()
        return onSave({ name: text('name'), kind, url: text('url') })
      }}
    >
      {channel ? null : (
        <label class="field">
          <span>Service</span>
          <select
            class="input"
            name="kind"
            value={kind}
            onChange={(event) => setKind(event.currentTarget.value as ChatKind)}
          >
            {Object.entries(chatKindLabels).map(([value, label]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </label>
      )}
      <label class="field">
        <span>Name</span>
        <input class="input" name="name" required maxLength={200} defaultValue={channel?.name ?? ''} />
      </label>
      <label class="field">
        <span>{channel ? `New URL (empty: keep the one at ${channel.host})` : 'URL of the incoming webhook'}</span>
        <input class="input" name="url" type="url" required={!channel} maxLength={2_000} autoComplete="off" />
      </label>
      <p class="label">{howTo[kind]}</p>
    </Dialog>
  )
}
