import { useState } from 'preact/hooks'
import type { ConfigProfile } from '../../api/schemas.ts'
import { ago } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { ForScope, NeedsScope } from '../../components/needs-scope.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { Chips, type Column, Table } from '../../components/table.tsx'
import { labelOf } from '../../state/known-settings.ts'
import { secretPaths } from '../../state/profile-settings.ts'
import { homeOrganizationId } from '../../state/session.ts'
import { goTo, linkTo, place } from '../../state/url.ts'
import { OrganizationPicker, WithoutOrganization } from '../shell/shell.tsx'
import { Variables } from '../variables/variables.tsx'
import { ProfileDetail } from './profile-detail.tsx'
import { ProfileDialog } from './profile-dialog.tsx'

/** Lists config profiles, or shows the selected one. Secrets can be set and replaced, but never read. */
export function ProfilesView() {
  const org = homeOrganizationId.value
  const chosen = place.value.params.profile
  if (!org) return <WithoutOrganization />
  return (
    <div class="page">
      <div class="page-inner">
        <NeedsScope org={org} scope="config:read" title="Profiles">
          {chosen ? <ProfileDetail key={chosen} org={org} id={chosen} /> : <ProfileList org={org} />}
        </NeedsScope>
      </div>
    </div>
  )
}

function ProfileList({ org }: { org: string }) {
  const list = usePages(`/orgs/${org}/configs`, {})
  const [editing, setEditing] = useState<ConfigProfile | 'new' | null>(null)
  const columns: Column<ConfigProfile>[] = [
    {
      title: 'Name',
      cell: ({ id, name, description }) => (
        <>
          <a href={linkTo('profiles', { profile: id })}>{name}</a>
          <div class="hint">{description}</div>
        </>
      ),
    },
    { title: 'Model', cell: ({ model }) => model ?? 'Any', optional: true },
    { title: 'Version', cell: ({ version }) => version, kind: 'number', optional: true },
    {
      title: 'Secrets',
      cell: ({ settings }) => <Chips words={secretPaths(settings).map((path) => `${labelOf(path) ?? path} set`)} />,
      optional: true,
    },
    { title: 'Updated', cell: ({ updatedAt }) => ago(updatedAt), optional: true },
    {
      title: 'Actions',
      kind: 'actions',
      cell: (profile) => <ProfileActions org={org} profile={profile} onEdit={() => setEditing(profile)} />,
    },
  ]
  return (
    <>
      <div class="page-head">
        <h1>Config profiles</h1>
        <OrganizationPicker allowAll={false} />
        <ForScope org={org} scope="config:write">
          <button type="button" class="button primary" onClick={() => setEditing('new')}>
            <Icon name="plus" size={16} /> New profile
          </button>
        </ForScope>
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
      <Variables
        org={org}
        path={`/orgs/${org}/variables`}
        about="None yet. A profile can refer to values that differ between routers, such as the name of a Wi-Fi network. Set here what counts for the whole organization; groups and devices have values of their own."
      />
      {editing ? (
        <ProfileDialog
          org={org}
          profile={editing === 'new' ? undefined : editing}
          onClose={() => setEditing(null)}
          onSaved={({ id }) => {
            if (editing === 'new') goTo('profiles', { profile: id })
            setEditing(null)
            list.reload()
          }}
        />
      ) : null}
    </>
  )
}

type ProfileActionsProps = { org: string; profile: ConfigProfile; onEdit: () => void }

const ProfileActions = ({ org, profile, onEdit }: ProfileActionsProps) => (
  <span class="actions">
    <ForScope org={org} scope="config:write">
      <button type="button" class="button small" onClick={onEdit}>
        Edit
      </button>
    </ForScope>
    <ForScope org={org} scope="config:apply">
      <a class="button small" href={linkTo('jobs', { new: 'apply_config', profile: profile.id })}>
        Apply
      </a>
    </ForScope>
  </span>
)
