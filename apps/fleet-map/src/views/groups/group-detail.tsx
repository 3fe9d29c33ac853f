import { useState } from 'preact/hooks'
import { dryRun, get, patch, post, remove } from '../../api/client.ts'
import type { Group, GroupMember } from '../../api/schemas.ts'
import { useAction } from '../../components/action.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ago, count, plural } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { StatusLabel } from '../../components/labels.tsx'
import { ForScope } from '../../components/needs-scope.tsx'
import { FailureNotice } from '../../components/notice.tsx'
import { type ListPages, MoreButton, usePages } from '../../components/pages.tsx'
import { useResource } from '../../components/resource.ts'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useTitle } from '../../components/title.ts'
import { holds } from '../../state/session.ts'
import { goTo, linkTo } from '../../state/url.ts'
import { OpenAlertsBanner } from '../alerts/open-alerts.tsx'
import { jobScopes } from '../jobs/job-scopes.ts'
import { PlannedBatch } from '../jobs/planned-batch.tsx'
import { Variables } from '../variables/variables.tsx'
import { GroupDialog } from './group-dialog.tsx'
import { MemberDialog } from './member-dialog.tsx'

const membershipLabels: Record<GroupMember['membership'], string> = {
  explicit: 'Manually',
  smartTag: 'By a smart tag',
  both: 'Manually and by a smart tag',
}

type GroupAction = 'reboot' | 'edit' | 'add' | 'delete'

/** Shows a group's members and the actions on the whole group. */
export function GroupDetail({ org, id }: { org: string; id: string }) {
  const [dialog, setDialog] = useState<GroupAction | null>(null)
  const members = usePages(`/orgs/${org}/groups/${id}/devices`, {})
  const groups = useResource(`group ${id}`, (signal) => get(`/orgs/${org}/groups/${id}`, { signal }))
  const group = groups.value
  useTitle(group?.name ?? '')
  const reload = () => {
    groups.reload()
    members.reload()
  }
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
      <GroupHead org={org} id={id} group={group} onChoose={setDialog} />
      {group ? (
        <p class="label">
          {plural(group.effectiveDeviceCount, 'device')}, {count(group.explicitDeviceCount)} added manually
          {group.smartTags.length > 0 ? `. Smart tags: ${group.smartTags.join(', ')}` : ''}
        </p>
      ) : null}
      <OpenAlertsBanner org={org} groupId={id} />
      <Members
        org={org}
        members={members}
        onRemove={async (deviceId) => {
          await remove(`/orgs/${org}/groups/${id}/members/${deviceId}`)
          reload()
        }}
      />
      <Variables
        org={org}
        path={`/orgs/${org}/groups/${id}/variables`}
        about="None. Values for the members of this group, to which config profiles refer."
      />
      {dialog ? (
        <GroupActionDialog
          org={org}
          id={id}
          group={group}
          action={dialog}
          onClose={() => setDialog(null)}
          onChanged={() => {
            setDialog(null)
            reload()
          }}
        />
      ) : null}
    </>
  )
}

type GroupHeadProps = { org: string; id: string; group: Group | undefined; onChoose: (action: GroupAction) => void }

const GroupHead = ({ org, id, group, onChoose }: GroupHeadProps) => (
  <div class="page-head">
    <h1>
      <a href={linkTo('groups')}>Groups</a> / {group?.name ?? '…'}
    </h1>
    <a class="button" href={linkTo('map', { group: id })}>
      Show on map
    </a>
    <ForScope org={org} scope="group:write">
      <button type="button" class="button" onClick={() => onChoose('add')}>
        Add devices
      </button>
      <button type="button" class="button" disabled={!group} onClick={() => onChoose('edit')}>
        Edit
      </button>
    </ForScope>
    <ForScope org={org} scope="job:create">
      <button type="button" class="button" onClick={() => onChoose('reboot')}>
        <Icon name="reboot" size={16} /> Reboot all
      </button>
    </ForScope>
    <ForScope org={org} scope={jobScopes}>
      <a class="button" href={linkTo('jobs', { new: 'apply_config', group: id })}>
        New job
      </a>
    </ForScope>
    <ForScope org={org} scope="group:write">
      <button type="button" class="button danger" onClick={() => onChoose('delete')}>
        Delete
      </button>
    </ForScope>
  </div>
)

type MembersProps = { org: string; members: ListPages<GroupMember>; onRemove: (deviceId: string) => Promise<void> }

function Members({ org, members, onRemove }: MembersProps) {
  const mayWrite = holds(org, 'group:write')
  const { busy, failure, run } = useAction()
  const columns: Column<GroupMember>[] = [
    { title: 'Name', cell: (device) => <a href={linkTo('device', { id: device.id })}>{device.name}</a> },
    { title: 'Status', cell: ({ status }) => <StatusLabel status={status} /> },
    { title: 'Serial', cell: ({ serial }) => <code>{serial}</code>, optional: true },
    { title: 'Added', cell: ({ membership }) => membershipLabels[membership], optional: true },
    { title: 'Last report', cell: ({ lastSeenAt }) => ago(lastSeenAt), optional: true },
    {
      title: 'Actions',
      kind: 'actions',
      cell: ({ id, membership }) =>
        membership === 'smartTag' || !mayWrite ? null : (
          <button type="button" class="button quiet small" disabled={busy} onClick={() => run(() => onRemove(id))}>
            Remove
          </button>
        ),
    },
  ]
  return (
    <>
      <FailureNotice reason={failure} />
      {members.error ? <Failure error={members.error} retry={members.reload} /> : null}
      {members.loading && members.items.length === 0 ? <Loading /> : null}
      {!members.loading && members.items.length === 0 && !members.error ? (
        <Empty title="This group has no devices" />
      ) : null}
      {members.items.length > 0 ? (
        <Table caption="Members" columns={columns} rows={members.items} keyOf={({ id }) => id} />
      ) : null}
      <MoreButton more={members.more} />
    </>
  )
}

type GroupActionProps = {
  org: string
  id: string
  group: Group | undefined
  action: GroupAction
  onClose: () => void
  onChanged: () => void
}

/** Asks before all devices of a group reboot, with what a dry run says about it. */
function ConfirmRebootAll({ org, id, group, onClose }: Omit<GroupActionProps, 'action' | 'onChanged'>) {
  const body = { kind: 'reboot' as const }
  const plan = useResource(`reboot of group ${id}`, (signal) =>
    dryRun(`/orgs/${org}/groups/${id}/jobs`, { body, signal }),
  )
  return (
    <Dialog
      title={`Reboot all ${plural(group?.effectiveDeviceCount ?? 0, 'device')}?`}
      submitLabel="Reboot"
      danger
      onClose={onClose}
      onSubmit={async () => {
        const batch = await post(`/orgs/${org}/groups/${id}/jobs`, { body })
        goTo('jobs', { batch: batch.id })
      }}
    >
      <PlannedBatch plan={plan} />
      <p>Offline routers receive their job when they reconnect within one hour.</p>
    </Dialog>
  )
}

function GroupActionDialog({ org, id, group, action, onClose, onChanged }: GroupActionProps) {
  if (action === 'add') return <MemberDialog org={org} groupId={id} onClose={onClose} onAdded={onChanged} />
  if (action === 'edit')
    return group ? (
      <GroupDialog
        title={`Edit ${group.name}`}
        submitLabel="Save"
        group={group}
        onClose={onClose}
        onSave={async (body) => {
          await patch(`/orgs/${org}/groups/${id}`, { body })
          onChanged()
        }}
      />
    ) : null
  if (action === 'reboot') return <ConfirmRebootAll org={org} id={id} group={group} onClose={onClose} />
  return (
    <Dialog
      title={`Delete the group ${group?.name ?? ''}?`}
      submitLabel="Delete"
      danger
      onClose={onClose}
      onSubmit={async () => {
        await remove(`/orgs/${org}/groups/${id}`)
        goTo('groups')
      }}
    >
      <p>The devices in the group are not deleted.</p>
    </Dialog>
  )
}
