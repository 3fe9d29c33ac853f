import { useState } from 'preact/hooks'
import { ApiError, patch } from '../../api/client.ts'
import type { Device } from '../../api/schemas.ts'
import { Conflict } from '../../components/conflict.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { type Entity, ifMatch, readEntity } from '../../components/entity.ts'
import { wordsOf } from '../../components/words.ts'
import css from './device.module.css'

type EditDeviceProps = { entity: Entity<Device>; onClose: () => void; onSaved: () => void }

/** Edits name, model, tags and notes. Shows a conflict if somebody else changed the device since the dialog opened. */
export function EditDevice({ entity, onClose, onSaved }: EditDeviceProps) {
  // The page follows the device; the form stays with the version that it opened with.
  const [opened, setOpened] = useState(entity)
  const [conflict, setConflict] = useState(false)
  const { value: device, tag } = opened
  return (
    <Dialog
      title={`Edit ${device.name}`}
      submitLabel="Save"
      onClose={onClose}
      onSubmit={async (form) => {
        setConflict(false)
        const text = (name: string) => String(form.get(name) ?? '').trim()
        try {
          await patch(`/devices/${device.id}`, {
            headers: ifMatch(tag),
            body: { name: text('name'), model: text('model'), tags: wordsOf(text('tags')), notes: text('notes') },
          })
          onSaved()
        } catch (error) {
          if (!(error instanceof ApiError && error.status === 412)) throw error
          setConflict(true)
        }
      }}
    >
      <div class="stack" key={tag}>
        <label class="field">
          <span>Name</span>
          <input class="input" name="name" required maxLength={200} defaultValue={device.name} />
        </label>
        <label class="field">
          <span>Model</span>
          <input class="input" name="model" required maxLength={200} defaultValue={device.model} />
        </label>
        <label class="field">
          <span>Tags, separated by commas</span>
          <input class="input" name="tags" defaultValue={device.tags.join(', ')} />
        </label>
        <label class="field">
          <span>Notes</span>
          <textarea
            class={`input ${css.notesField}`}
            name="notes"
            maxLength={4_000}
            defaultValue={device.notes ?? ''}
          />
        </label>
        <p class="label">
          Serial <code>{device.serial}</code> cannot be changed.
        </p>
      </div>
      {conflict ? (
        <Conflict
          what="device"
          onReload={async () => {
            setOpened(await readEntity(`/devices/${device.id}`))
            setConflict(false)
          }}
        />
      ) : null}
    </Dialog>
  )
}
