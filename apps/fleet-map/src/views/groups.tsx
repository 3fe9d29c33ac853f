import { useRef, useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { Batch, Group, GroupMember } from '../api/types.ts'
import { Dialog } from '../components/dialog.tsx'
import { ago, count } from '../components/format.ts'
import { Icon } from '../components/icon.tsx'
import { StatusLabel } from '../components/labels.tsx'
import { MoreButton, usePages } from '../components/pages.tsx'
import { useResource } from '../components/resource.ts'
import { Empty, Failure, Loading } from '../components/states.tsx'
import { homeOrganizationId } from '../state/session.ts'
import { goTo, linkTo, place } from '../state/url.ts'
import { MemberDialog } from './member-dialog.tsx'
import { OrganizationPicker } from './shell.tsx'

const tagsOf = (text: string) =>
  text
    .split(',')
    .map((tag) => tag.trim())
    .filter(Boolean)

/** Groups of the organization, and the members of the one that is chosen. */
export function GroupsView() {
  const org = homeOrganizationId.value
  const chosen = place.value.params.group
  if (!org) return <Loading />
  return (
    <div class="page">
      <div class="page-inner">{chosen ? <GroupDetail org={org} id={chosen} /> : <GroupList org={org} />}</div>
    </div>
  )
}

function GroupList({ org }: { org: string }) {
  const list = usePages<Group>(`/orgs/${org}/groups`, {})
  const [adding, setAdding] = useState(false)
  return (
    <>
      <div class="page-head">
        <h1>Groups</h1>
        <OrganizationPicker allowAll={false} />
        <button type="button" class="button primary" onClick={() => setAdding(true)}>
          <Icon name="plus" size={16} /> New group
        </button>
      </div>
      {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
      {list.loading && list.items.length === 0 ? <Loading /> : null}
      {!list.loading && !list.error && list.items.length === 0 ? (
        <Empty title="No groups yet">
          <p>A group collects devices by hand or by tag, and takes a job for all of them at once.</p>
        </Empty>
      ) : null}
      {list.items.length > 0 ? (
        <div class="card table-frame">
          <table class="table">
            <caption class="visually-hidden">Groups</caption>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Smart tags</th>
                <th scope="col" class="number">
                  Devices
                </th>
                <th scope="col" class="number">
                  Added by hand
                </th>
                <th scope="col">Changed</th>
              </tr>
            </thead>
            <tbody>
              {list.items.map((group) => (
                <tr key={group.id}>
                  <td>
                    <a href={linkTo('groups', { group: group.id })}>{group.name}</a>
                  </td>
                  <td>
                    {group.smartTags.map((tag) => (
                      <span key={tag} class="chip" style={{ marginRight: 'var(--space-1)' }}>
                        {tag}
                      </span>
                    ))}
                  </td>
                  <td class="number">{count(group.effectiveDeviceCount)}</td>
                  <td class="number">{count(group.explicitDeviceCount)}</td>
                  <td>{ago(group.updatedAt)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
      <MoreButton more={list.more} />
      {adding ? (
        <GroupDialog
          title="New group"
          submitLabel="Create"
          onClose={() => setAdding(false)}
          onSave={async (body) => {
            const group = await call<Group>(`/orgs/${org}/groups`, { method: 'POST', body })
            goTo('groups', { group: group.id })
          }}
        />
      ) : null}
    </>
  )
}

type GroupDialogProps = {
  title: string
  submitLabel: string
  group?: Group
  onClose: () => void
  onSave: (body: { name: string; smartTags: string[] }) => Promise<void>
}

function GroupDialog({ title, submitLabel, group, onClose, onSave }: GroupDialogProps) {
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
        <input ref={name} class="input" required maxLength={200} defaultValue={group?.name ?? ''} />
      </label>
      <label class="field">
        <span>Smart tags, separated by commas: devices with any of them belong to the group</span>
        <input ref={tags} class="input" defaultValue={group?.smartTags.join(', ') ?? ''} />
      </label>
    </Dialog>
  )
}

function GroupDetail({ org, id }: { org: string; id: string }) {
  const [dialog, setDialog] = useState<'reboot' | 'edit' | 'add' | 'delete' | null>(null)
  const members = usePages<GroupMember>(`/orgs/${org}/groups/${id}/devices`, {})
  const groups = useResource(`group ${id}`, (signal) => call<Group>(`/orgs/${org}/groups/${id}`, { signal }))
  const group = groups.value
  const close = () => setDialog(null)
  const reload = () => {
    groups.reload()
    members.reload()
  }
  const remove = async (deviceId: string) => {
    await call(`/orgs/${org}/groups/${id}/members/${deviceId}`, { method: 'DELETE' })
    reload()
  }
  return (
    <>
      <div class="page-head">
        <h1>
          <a href={linkTo('groups')}>Groups</a> / {group?.name ?? '…'}
        </h1>
        <a class="button" href={linkTo('map', { group: id })}>
          Show on the map
        </a>
        <button type="button" class="button" onClick={() => setDialog('add')}>
          Add devices
        </button>
        <button type="button" class="button" disabled={!group} onClick={() => setDialog('edit')}>
          Edit
        </button>
        <button type="button" class="button danger" onClick={() => setDialog('delete')}>
          Delete
        </button>
        <button type="button" class="button primary" onClick={() => setDialog('reboot')}>
          <Icon name="reboot" size={16} /> Reboot all
        </button>
      </div>
      {group ? (
        <p class="label">
          {count(group.effectiveDeviceCount)} devices, {count(group.explicitDeviceCount)} added by hand
          {group.smartTags.length > 0 ? `, the others by ${group.smartTags.join(', ')}` : ''}
        </p>
      ) : null}
      {members.error ? <Failure error={members.error} retry={members.reload} /> : null}
      {members.loading && members.items.length === 0 ? <Loading /> : null}
      {!members.loading && members.items.length === 0 && !members.error ? (
        <Empty title="No device belongs to this group" />
      ) : null}
      {members.items.length > 0 ? (
        <div class="card table-frame">
          <table class="table">
            <caption class="visually-hidden">Members</caption>
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Status</th>
                <th scope="col">Serial</th>
                <th scope="col">Belongs by</th>
                <th scope="col">Last seen</th>
                <th scope="col">
                  <span class="visually-hidden">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {members.items.map((device) => (
                <tr key={device.id}>
                  <td>
                    <a href={linkTo('map', { device: device.id })}>{device.name}</a>
                  </td>
                  <td>
                    <StatusLabel status={device.status} />
                  </td>
                  <td>
                    <code>{device.serial}</code>
                  </td>
                  <td>{{ explicit: 'hand', smartTag: 'tag', both: 'hand and tag' }[device.membership]}</td>
                  <td>{ago(device.lastSeenAt)}</td>
                  <td class="number">
                    {device.membership === 'smartTag' ? null : (
                      <button type="button" class="button quiet small" onClick={() => remove(device.id)}>
                        Remove
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
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
          title={`Reboot all ${count(group?.effectiveDeviceCount ?? 0)} devices?`}
          submitLabel="Reboot"
          onClose={close}
          onSubmit={async () => {
            const batch = await call<Batch>(`/orgs/${org}/groups/${id}/jobs`, {
              method: 'POST',
              body: { kind: 'reboot' },
            })
            goTo('jobs', { batch: batch.id })
          }}
        >
          <p>Every device gets its own job. Routers that are asleep take it when they come back, for up to an hour.</p>
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
          <p>Its devices stay.</p>
        </Dialog>
      ) : null}
    </>
  )
}
