import { useState } from 'preact/hooks'
import { post } from '../../api/client.ts'
import type { Group } from '../../api/schemas.ts'
import { ago, count } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { ForScope, NeedsScope } from '../../components/needs-scope.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { Chips, type Column, Table } from '../../components/table.tsx'
import { homeOrganizationId } from '../../state/session.ts'
import { goTo, linkTo, place } from '../../state/url.ts'
import { OrganizationPicker, WithoutOrganization } from '../shell/shell.tsx'
import { GroupDetail } from './group-detail.tsx'
import { GroupDialog } from './group-dialog.tsx'

/** Lists the organization's groups, or shows the selected group. */
export function GroupsView() {
  const org = homeOrganizationId.value
  const chosen = place.value.params.group
  if (!org) return <WithoutOrganization />
  return (
    <div class="page">
      <div class="page-inner">
        <NeedsScope org={org} scope="group:read" title="Groups">
          {chosen ? <GroupDetail org={org} id={chosen} /> : <GroupList org={org} />}
        </NeedsScope>
      </div>
    </div>
  )
}

const columns: Column<Group>[] = [
  { title: 'Name', cell: ({ id, name }) => <a href={linkTo('groups', { group: id })}>{name}</a> },
  { title: 'Smart tags', cell: ({ smartTags }) => <Chips words={smartTags} /> },
  { title: 'Devices', cell: ({ effectiveDeviceCount }) => count(effectiveDeviceCount), kind: 'number' },
  {
    title: 'Added manually',
    cell: ({ explicitDeviceCount }) => count(explicitDeviceCount),
    kind: 'number',
    optional: true,
  },
  { title: 'Updated', cell: ({ updatedAt }) => ago(updatedAt), optional: true },
]

function GroupList({ org }: { org: string }) {
  const list = usePages(`/orgs/${org}/groups`, {})
  const [adding, setAdding] = useState(false)
  return (
    <>
      <div class="page-head">
        <h1>Groups</h1>
        <OrganizationPicker allowAll={false} />
        <ForScope org={org} scope="group:write">
          <button type="button" class="button primary" onClick={() => setAdding(true)}>
            <Icon name="plus" size={16} /> New group
          </button>
        </ForScope>
      </div>
      {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
      {list.loading && list.items.length === 0 ? <Loading /> : null}
      {!list.loading && !list.error && list.items.length === 0 ? (
        <Empty title="No groups yet">
          <p>A group contains devices that you add manually or select by tag. You can run a job on the whole group.</p>
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
            const group = await post(`/orgs/${org}/groups`, { body })
            goTo('groups', { group: group.id })
          }}
        />
      ) : null}
    </>
  )
}
