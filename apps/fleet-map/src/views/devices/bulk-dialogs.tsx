import { useState } from 'preact/hooks'
import { all, post } from '../../api/client.ts'
import { Dialog } from '../../components/dialog.tsx'
import { faultAt } from '../../components/field-errors.ts'
import { plural } from '../../components/format.ts'
import { useResource } from '../../components/resource.ts'
import { wordsOf } from '../../components/words.ts'
import { useTags } from '../../state/tags.ts'
import { goTo } from '../../state/url.ts'
import type { BulkSelection } from './bulk.ts'

type BulkDialogProps = { selection: BulkSelection; organizationId: string; onClose: () => void }

const devices = (size: number) => plural(size, 'device')
const showBatch = (org: string, { id }: { id: string }) => goTo('jobs', { org, batch: id })

/** Adds and removes tags. */
export function BulkTags({
  selection,
  organizationId,
  onClose,
  onChanged,
}: BulkDialogProps & { onChanged: () => void }) {
  const known = useTags(organizationId)
  const [report, setReport] = useState<{ changed: number; refused: number }>()
  return (
    <Dialog
      title={`Change the tags of ${devices(selection.size)}`}
      submitLabel={report ? 'Change again' : 'Change tags'}
      closeLabel={report ? 'Done' : 'Cancel'}
      isDone={report !== undefined}
      onClose={onClose}
      onSubmit={async (form) => {
        setReport(undefined)
        const body = {
          ...selection.body,
          add: wordsOf(String(form.get('add'))),
          remove: wordsOf(String(form.get('remove'))),
        }
        if (body.add.length + body.remove.length === 0) throw faultAt('add', 'Enter at least one tag.')
        setReport(await post(`/orgs/${organizationId}/device-tags`, { body }))
        onChanged()
      }}
    >
      <label class="field">
        <span>Add tags, separated by commas</span>
        <input class="input" name="add" list="bulk-tags" />
      </label>
      <label class="field">
        <span>Remove tags, separated by commas</span>
        <input class="input" name="remove" list="bulk-tags" />
      </label>
      <datalist id="bulk-tags">
        {known.map(({ value }) => (
          <option key={value} value={value} />
        ))}
      </datalist>
      {report ? (
        <p class="notice" role="status">
          {devices(report.changed)} changed.
          {report.refused > 0 ? ` ${devices(report.refused)} would have more than 50 tags and did not change.` : ''}
        </p>
      ) : null}
    </Dialog>
  )
}

/** Creates a reboot job for each device. */
export const BulkReboot = ({ selection, organizationId, onClose }: BulkDialogProps) => (
  <Dialog
    title={`Reboot ${devices(selection.size)}?`}
    submitLabel="Reboot"
    danger
    onClose={onClose}
    onSubmit={async () => {
      const body = { ...selection.body, kind: 'reboot' as const }
      showBatch(organizationId, await post(`/orgs/${organizationId}/job-batches`, { body }))
    }}
  >
    <p>Each device gets its own job. Offline routers receive it when they reconnect within one hour.</p>
  </Dialog>
)

/** Applies a profile to each device. */
export function BulkApply({ selection, organizationId, onClose }: BulkDialogProps) {
  const profiles = useResource(`profiles ${organizationId}`, () => all(`/orgs/${organizationId}/configs`))
  return (
    <Dialog
      title={`Apply a profile to ${devices(selection.size)}`}
      submitLabel="Apply"
      onClose={onClose}
      onSubmit={async (form) => {
        const path = `/orgs/${organizationId}/configs/${String(form.get('profile'))}/apply` as const
        showBatch(organizationId, await post(path, { body: selection.body }))
      }}
    >
      <label class="field">
        <span>Profile</span>
        <select class="input" name="profile" required>
          <option value="">Choose a profile</option>
          {(profiles.value ?? []).map(({ id, name, model, version }) => (
            <option key={id} value={id}>
              {name} (version {version}
              {model ? `, only ${model}` : ''})
            </option>
          ))}
        </select>
      </label>
      {profiles.value?.length === 0 ? <p class="label">There are no profiles yet.</p> : null}
      <p class="label">Disabled devices and devices of another model are skipped. The batch lists them.</p>
    </Dialog>
  )
}
