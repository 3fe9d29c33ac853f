import { useRef } from 'preact/hooks'
import type { Group } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'

const tagsOf = (text: string) =>
  text
    .split(',')
    .map((tag) => tag.trim())
    .filter(Boolean)

type GroupDialogProps = {
  title: string
  submitLabel: string
  group?: Group
  onClose: () => void
  onSave: (body: { name: string; smartTags: string[] }) => Promise<void>
}

/** Edits the name and smart tags of a new or existing group. */
export function GroupDialog({ title, submitLabel, group, onClose, onSave }: GroupDialogProps) {
  const name = useRef<HTMLInputElement>(null)
  const tags = useRef<HTMLInputElement>(null)
  return (
    <Dialog
      title={title}
      submitLabel={submitLabel}
      onClose={onClose}
      onSubmit={() => onSave({ name: name.current?.value.trim() ?? '', smartTags: tagsOf(tags.current?.value ?? '') })}
    >
      <label class="field">
        <span>Name</span>
        <input ref={name} class="input" name="name" required maxLength={200} defaultValue={group?.name ?? ''} />
      </label>
      <label class="field">
        <span>Smart tags, separated by commas</span>
        <input ref={tags} class="input" name="smartTags" defaultValue={group?.smartTags.join(', ') ?? ''} />
        <span class="hint">Devices with any of these tags belong to the group.</span>
      </label>
    </Dialog>
  )
}
