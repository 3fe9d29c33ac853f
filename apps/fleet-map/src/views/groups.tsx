import { useState } from 'preact/hooks'
import { call } from '../api/client.ts'
import type { Group } from '../api/types.ts'
import { ago, count } from '../components/format.ts'
import { Icon } from '../components/icon.tsx'
import { MoreButton, usePages } from '../components/pages.tsx'
import { Empty, Failure, Loading } from '../components/states.tsx'
import { Chips, type Column, Table } from '../components/table.tsx'
import { homeOrganizationId } from '../state/session.ts'
import { goTo, linkTo, place } from '../state/url.ts'
import { GroupDetail } from './group-detail.tsx'
import { GroupDialog } from './group-dialog.tsx'
import { OrganizationPicker, WithoutOrganization } from './shell.tsx'

/** Groups of the organization, and the members of the one that is chosen. */
export function GroupsView() {
  const org = homeOrganizationId.value
  const chosen = place.value.params.group
  if (!org) return <WithoutOrganization />
  return (
    <div class="page">
      <div class="page-inner">{chosen ? <GroupDetail org={org} id={chosen} /> : <GroupList org={org} />}</div>
    </div>
  )
}

const columns: Column<Group>[] = [
  { title: 'Name', cell: ({ id, name }) => <a href={linkTo('groups', { group: id })}>{name}</a> },
  { title: 'Smart tags', cell: ({ smartTags }) => <Chips words={smartTags} /> },
  { title: 'Devices', cell: ({ effectiveDeviceCount }) => count(effectiveDeviceCount), kind: 'number' },
  {
    title: 'Added by hand',
    cell: ({ explicitDeviceCount }) => count(explicitDeviceCount),
    kind: 'number',
    optional: true,
  },
  { title: 'Changed', cell: ({ updatedAt }) => ago(updatedAt), optional: true },
]

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
        <Table caption="Groups" columns={columns} rows={list.items} keyOf={({ id }) => id} />
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
