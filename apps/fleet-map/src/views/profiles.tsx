import { useState } from 'preact/hooks'
import type { Profile } from '../api/types.ts'
import { ago } from '../components/format.ts'
import { Icon } from '../components/icon.tsx'
import { MoreButton, usePages } from '../components/pages.tsx'
import { Empty, Failure, Loading } from '../components/states.tsx'
import { Chips, type Column, Table } from '../components/table.tsx'
import { secretPaths } from '../state/profile-settings.ts'
import { homeOrganizationId } from '../state/session.ts'
import { ApplyToGroup, ProfileDialog } from './profile-dialogs.tsx'
import { OrganizationPicker, WithoutOrganization } from './shell.tsx'

/** Lists config profiles. Secrets can be set and replaced, but never read. */
export function ProfilesView() {
  const org = homeOrganizationId.value
  const list = usePages<Profile>(org ? `/orgs/${org}/configs` : null, {})
  const [editing, setEditing] = useState<Profile | 'new' | null>(null)
  const [applying, setApplying] = useState<Profile | null>(null)
  if (!org) return <WithoutOrganization />
  const columns: Column<Profile>[] = [
    {
      title: 'Name',
      cell: ({ name, description }) => (
        <>
          <strong>{name}</strong>
          <div class="hint">{description}</div>
        </>
      ),
    },
    { title: 'Model', cell: ({ model }) => model ?? 'Any', optional: true },
    { title: 'Version', cell: ({ version }) => version, kind: 'number', optional: true },
    {
      title: 'Secrets',
      cell: ({ settings }) => <Chips words={secretPaths(settings).map((path) => `${path} set`)} />,
      optional: true,
    },
    { title: 'Updated', cell: ({ updatedAt }) => ago(updatedAt), optional: true },
    {
      title: 'Actions',
      kind: 'actions',
      cell: (profile) => (
        <span class="actions">
          <button type="button" class="button small" onClick={() => setEditing(profile)}>
            Edit
          </button>
          <button type="button" class="button small" onClick={() => setApplying(profile)}>
            Apply
          </button>
        </span>
      ),
    },
  ]
  return (
    <div class="page">
      <div class="page-inner">
        <div class="page-head">
          <h1>Config profiles</h1>
          <OrganizationPicker allowAll={false} />
          <button type="button" class="button primary" onClick={() => setEditing('new')}>
            <Icon name="plus" size={16} /> New profile
          </button>
        </div>
        {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
        {list.loading && list.items.length === 0 ? <Loading /> : null}
        {!list.loading && !list.error && list.items.length === 0 ? (
          <Empty title="No profiles yet">
            <p>
              A profile contains router settings and encrypted secrets. Applying a profile creates one job per device.
            </p>
          </Empty>
        ) : null}
        {list.items.length > 0 ? (
          <Table caption="Config profiles" columns={columns} rows={list.items} keyOf={({ id }) => id} />
        ) : null}
        <MoreButton more={list.more} />
      </div>
      {editing ? (
        <ProfileDialog
          org={org}
          profile={editing === 'new' ? undefined : editing}
          onClose={() => setEditing(null)}
          onSaved={() => {
            setEditing(null)
            list.reload()
          }}
        />
      ) : null}
      {applying ? <ApplyToGroup org={org} profile={applying} onClose={() => setApplying(null)} /> : null}
    </div>
  )
}
