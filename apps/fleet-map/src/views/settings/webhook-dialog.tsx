import { useRef } from 'preact/hooks'
import type { Webhook } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { fieldsOf, tickedOf } from '../../components/form.ts'
import css from './settings.module.css'

type EventType = Webhook['events'][number]

const events: [type: EventType, label: string][] = [
  ['device.status_changed', 'A device’s status changes'],
  ['device.created', 'A device is created'],
  ['device.deleted', 'A device is deleted'],
  ['device.transferred', 'A device moves to another organization'],
  ['job.finished', 'A job finishes'],
  ['job_batch.finished', 'A batch of jobs finishes'],
  ['dwell.started', 'A device stops somewhere'],
  ['dwell.ended', 'A device leaves where it stopped'],
  ['quota.reached', 'The device quota is reached'],
  ['alert.opened', 'An alert opens'],
  ['alert.closed', 'An alert closes'],
]

type WebhookBody = { url: string; events: EventType[]; description: string | null }
type WebhookDialogProps = {
  title: string
  hook?: Webhook
  onClose: () => void
  onSave: (body: WebhookBody) => Promise<void>
}

/** Asks for a webhook's address, its events and a description. The address cannot be changed later. */
export function WebhookDialog({ title, hook, onClose, onSave }: WebhookDialogProps) {
  const fields = useRef<HTMLDivElement>(null)
  const save = () => {
    const { url = '', description } = fieldsOf(fields.current)
    return onSave({ url, events: tickedOf(fields.current, 'event') as EventType[], description: description || null })
  }
  return (
    <Dialog title={title} submitLabel={hook ? 'Save' : 'Create'} onClose={onClose} onSubmit={save}>
      <div ref={fields} class={css.fields}>
        {hook ? null : (
          <label class="field">
            <span>Address (public, with https)</span>
            <input class="input" name="url" type="url" required placeholder="https://hooks.example.com/routers" />
          </label>
        )}
        <label class="field">
          <span>Description</span>
          <input class="input" name="description" maxLength={200} defaultValue={hook?.description ?? ''} />
        </label>
        <fieldset class="field plain" data-member="events" data-empty="Choose at least one event.">
          <legend class="label">Events</legend>
          <div class={css.ticks}>
            {events.map(([type, label]) => (
              <label key={type} class={css.tick}>
                <input
                  type="checkbox"
                  name="event"
                  value={type}
                  defaultChecked={hook?.events.includes(type) ?? false}
                />
                {label}
              </label>
            ))}
          </div>
        </fieldset>
      </div>
    </Dialog>
  )
}
