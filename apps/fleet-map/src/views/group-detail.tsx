import { useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { Batch, Group, GroupMember } from '../api/types.ts'
import { useAction } from '../components/action.ts'
import { Dialog } from '../components/dialog.tsx'
import { ago, count, plural } from '../components/format.ts'
import { Icon } from '../components/icon.tsx'
import { StatusLabel } from '../components/labels.tsx'
import { FailureNotice } from '../components/notice.tsx'
import { MoreButton, usePages } from '../components/pages.tsx'
import { useResource } from '../components/resource.ts'
import { Empty, Failure, Loading } from '../components/states.tsx'
import { type Column, Table } from '../components/table.tsx'
import { useTitle } from '../components/title.ts'
import { goTo, linkTo } from '../state/url.ts'
import { GroupDialog } from './group-dialog.tsx'
import { MemberDialog } from './member-dialog.tsx'

const membershipLabels: Record<GroupMember['membership'], string> = {
  explicit: 'Manually',
  smartTag: 'By a smart tag',
  both: 'Manually and by a smart tag',
}

/** Shows a group's members and the actions on the whole group. */
export function GroupDetail({ org, id }: { org: string; id: string }) {
  const [dialog, setDialog] = useState<'reboot' | 'edit' | 'add' | 'delete' | null>(null)
  const members = usePages<GroupMember>(`/orgs/${org}/groups/${id}/devices`, {})
  const groups = useResource(`group ${id}`, (signal) => call<Group>(`/orgs/${org}/groups/${id}`, { signal }))
  const group = groups.value
  useTitle(group?.name ?? '')
  const close = () => setDialog(null)
  const reload = () => {
    groups.reload()
    members.reload()
  }
  const { busy, failure, run } = useAction()
  const remove = (deviceId: string) =>
    run(async () => {
      await call(`/orgs/${org}/groups/${id}/members/${deviceId}`, { method: 'DELETE' })
      reload()
    })
  const columns: Column<GroupMember>[] = [
    { title: 'Name', cell: (device) => <a href={linkTo('device', { id: device.id })}>{device.name}</a> },
    { title: 'Status', cell: ({ status }) => <StatusLabel status={status} /> },
    { title: 'Serial', cell: ({ serial }) => <code>{serial}</code>, optional: true },
    { title: 'Added', cell: ({ membership }) => membershipLabels[membership], optional: true },
    { title: 'Last report', cell: ({ lastSeenAt }) => ago(lastSeenAt), optional: true },
    {
      title: 'Actions',
      kind: 'actions',
      cell: (device) =>
        device.membership === 'smartTag' ? null : (
          <button type="button" class="button quiet small" disabled={busy} onClick={() => remove(device.id)}>
            Remove
          </button>
        ),
    },
  ]
  if (groups.error && !group)
    return (
      <Failure error={groups.error} retry={groups.reload}>
        <a class="button" href={linkTo('groups')}>
          All groups
        </a>
      </Failure>
    )
  return (
    <>
      <div class="page-head">
        <h1>
          <a href={linkTo('groups')}>Groups</a> / {group?.name ?? '…'}
        </h1>
        <a class="button" href={linkTo('map', { group: id })}>
          Show on map
        </a>
        <button type="button" class="button" onClick={() => setDialog('add')}>
          Add devices
        </button>
        <button type="button" class="button" disabled={!group} onClick={() => setDialog('edit')}>
          Edit
        </button>
        <button type="button" class="button" onClick={() => setDialog('reboot')}>
          <Icon name="reboot" size={16} /> Reboot all
        </button>
        <a class="button" href={linkTo('jobs', { new: 'apply_config', group: id })}>
          New job
        </a>
        <button type="button" class="button danger" onClick={() => setDialog('delete')}>
          Delete
        </button>
      </div>
      {group ? (
        <p class="label">
          {plural(group.effectiveDeviceCount, 'device')}, {count(group.explicitDeviceCount)} added manually
          {group.smartTags.length > 0 ? `. Smart tags: ${group.smartTags.join(', ')}` : ''}
        </p>
      ) : null}
      <FailureNotice reason={failure} />
      {members.error ? <Failure error={members.error} retry={members.reload} /> : null}
      {members.loading && members.items.length === 0 ? <Loading /> : null}
      {!members.loading && members.items.length === 0 && !members.error ? (
        <Empty title="This group has no devices" />
      ) : null}
      {members.items.length > 0 ? (
        <Table caption="Members" columns={columns} rows={members.items} keyOf={({ id: deviceId }) => deviceId} />
      ) : null}
      <MoreButton more={members.more} />
      {dialog === 'edit' && group ? (
        <GroupDialog
          title={`Edit ${group.name}`}
          submitLabel="Save"
          group={group}
          onClose={close}
          onSave={async (body) => {
            await call(`/orgs/${org}/groups/${id}`, { method: 'PATCH', body })
            close()
            reload()
          }}
        />
      ) : null}
      {dialog === 'add' ? (
        <MemberDialog
          org={org}
          groupId={id}
          onClose={close}
          onAdded={() => {
            close()
            reload()
          }}
        />
      ) : null}
      {dialog === 'reboot' ? (
        <Dialog
          title={`Reboot all ${plural(group?.effectiveDeviceCount ?? 0, 'device')}?`}
          submitLabel="Reboot"
          danger
          onClose={close}
          onSubmit={async () => {
            const batch = await call<Batch>(`/orgs/${org}/groups/${id}/jobs`, {
              method: 'POST',
              body: { kind: 'reboot' },
            })
            goTo('jobs', { batch: batch.id })
          }}
        >
          <p>Each device gets its own job. Offline routers receive it when they reconnect within one hour.</p>
        </Dialog>
      ) : null}
      {dialog === 'delete' ? (
        <Dialog
          title={`Delete the group ${group?.name ?? ''}?`}
          submitLabel="Delete"
          danger
          onClose={close}
          onSubmit={async () => {
            await call(`/orgs/${org}/groups/${id}`, { method: 'DELETE' })
            goTo('groups')
          }}
        >
          <p>The devices in the group are not deleted.</p>
        </Dialog>
      ) : null}
    </>
  )
}
