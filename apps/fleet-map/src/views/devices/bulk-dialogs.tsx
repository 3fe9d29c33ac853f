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
import { filterInAddress } from './list-filter.ts'
import { SelectionNames } from './selection-names.tsx'

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
      <SelectionNames selection={selection} organizationId={organizationId} />
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
    <SelectionNames selection={selection} organizationId={organizationId} />
    <p>Each device gets its own job. Offline routers receive it when they reconnect within one hour.</p>
  </Dialog>
)

/** Creates a diagnostics job for each device. */
export const BulkDiagnostics = ({ selection, organizationId, onClose }: BulkDialogProps) => (
  <Dialog
    title={`Collect diagnostics of ${devices(selection.size)}`}
    submitLabel="Collect"
    onClose={onClose}
    onSubmit={async () => {
      const body = { ...selection.body, kind: 'collect_diagnostics' as const }
      showBatch(organizationId, await post(`/orgs/${organizationId}/job-batches`, { body }))
    }}
  >
    <SelectionNames selection={selection} organizationId={organizationId} />
    <p>
      Each router sends its diagnostics when it next connects. They are shown with its job. Disabled devices are
      skipped.
    </p>
  </Dialog>
)

const idsPerRequest = 1_000
const maxIds = 10_000

/** Adds devices to a group. */
export function BulkGroup({ selection, organizationId, onClose }: BulkDialogProps) {
  const groups = useResource(`groups ${organizationId}`, () => all(`/orgs/${organizationId}/groups`))
  const [report, setReport] = useState<{ added: number; alreadyMembers: number }>()
  return (
    <Dialog
      title={`Add ${devices(selection.size)} to a group`}
      submitLabel={report ? 'Add to another one' : 'Add'}
      closeLabel={report ? 'Done' : 'Cancel'}
      isDone={report !== undefined}
      onClose={onClose}
      onSubmit={async (form) => {
        setReport(undefined)
        const path = `/orgs/${organizationId}/groups/${String(form.get('group'))}/members` as const
        const ids = await idsOf(selection, organizationId)
        const sum = { added: 0, alreadyMembers: 0 }
        for (let start = 0; start < ids.length; start += idsPerRequest) {
          const part = await post(path, { body: { deviceIds: ids.slice(start, start + idsPerRequest) } })
          sum.added += part.added
          sum.alreadyMembers += part.alreadyMembers
        }
        setReport(sum)
      }}
    >
      <SelectionNames selection={selection} organizationId={organizationId} />
      <label class="field">
        <span>Group</span>
        <select class="input" name="group" required>
          <option value="">Choose a group</option>
          {(groups.value ?? []).map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {groups.value?.length === 0 ? <p class="label">There are no groups yet.</p> : null}
      {report ? (
        <p class="notice" role="status">
          {devices(report.added)} added.
          {report.alreadyMembers > 0 ? ` ${devices(report.alreadyMembers)} were members before.` : ''}
        </p>
      ) : null}
    </Dialog>
  )
}

/** The ids of the chosen devices, or of those that match the filter now. */
async function idsOf({ body, size }: BulkSelection, orgId: string): Promise<string[]> {
  if ('deviceIds' in body) return body.deviceIds
  if (size > maxIds)
    throw new Error(`At most ${maxIds} devices can be added at once. Give them a tag of the group instead.`)
  return (await all('/devices', { orgId, ...filterInAddress() }, maxIds)).map(({ id }) => id)
}

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
      <SelectionNames selection={selection} organizationId={organizationId} />
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
