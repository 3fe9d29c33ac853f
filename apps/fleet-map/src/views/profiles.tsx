import { useState } from 'preact/hooks'
import type { Profile } from '../api/types.ts'
import { ago } from '../components/format.ts'
import { Icon } from '../components/icon.tsx'
import { MoreButton, usePages } from '../components/pages.tsx'
import { Empty, Failure, Loading } from '../components/states.tsx'
import { secretPaths } from '../state/profile-settings.ts'
import { homeOrganizationId } from '../state/session.ts'
import { ApplyToGroup, ProfileDialog } from './profile-dialogs.tsx'
import { OrganizationPicker } from './shell.tsx'

/** Config profiles: what routers are told. Secrets can be set and replaced, never read back. */
export function ProfilesView() {
  const org = homeOrganizationId.value
  const list = usePages<Profile>(org ? `/orgs/${org}/configs` : '/orgs', {})
  const [editing, setEditing] = useState<Profile | 'new' | null>(null)
  const [applying, setApplying] = useState<Profile | null>(null)
  if (!org) return <Loading />
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
            <p>A profile holds settings for routers, its secrets encrypted. Applying it makes one job a device.</p>
          </Empty>
        ) : null}
        {list.items.length > 0 ? (
          <div class="card table-frame">
            <table class="table">
              <caption class="visually-hidden">Config profiles</caption>
              <thead>
                <tr>
                  <th scope="col">Name</th>
                  <th scope="col">Model</th>
                  <th scope="col" class="number">
                    Version
                  </th>
                  <th scope="col">Secrets</th>
                  <th scope="col">Changed</th>
                  <th scope="col">
                    <span class="visually-hidden">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {list.items.map((profile) => (
                  <tr key={profile.id}>
                    <td>
                      <strong>{profile.name}</strong>
                      <div class="hint">{profile.description}</div>
                    </td>
                    <td>{profile.model ?? 'any'}</td>
                    <td class="number">{profile.version}</td>
                    <td>
                      {secretPaths(profile.settings).map((path) => (
                        <span key={path} class="chip" style={{ marginRight: 'var(--space-1)' }}>
                          {path} set
                        </span>
                      ))}
                    </td>
                    <td>{ago(profile.updatedAt)}</td>
                    <td class="number">
                      <button type="button" class="button small" onClick={() => setEditing(profile)}>
                        Edit
                      </button>{' '}
                      <button type="button" class="button small" onClick={() => setApplying(profile)}>
                        Apply
                      </button>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
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
