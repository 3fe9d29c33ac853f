import { useState } from 'preact/hooks'
import { get, remove } from '../../api/client.ts'
import { Dialog } from '../../components/dialog.tsx'
import { moment } from '../../components/format.ts'
import { ForScope } from '../../components/needs-scope.tsx'
import { useResource } from '../../components/resource.ts'
import { SettingsTable } from '../../components/settings-table.tsx'
import { Failure, Loading } from '../../components/states.tsx'
import { useTitle } from '../../components/title.ts'
import { goTo, linkTo } from '../../state/url.ts'
import { ProfileDevices } from './profile-devices.tsx'
import { ProfileDialog } from './profile-dialog.tsx'
import { ProfileVersions } from './profile-versions.tsx'

/** Shows a profile: its settings, its versions, and the devices that run it. */
export function ProfileDetail({ org, id }: { org: string; id: string }) {
  const [dialog, setDialog] = useState<ProfileAction | null>(null)
  const profile = useResource(`profile ${id}`, (signal) => get(`/orgs/${org}/configs/${id}`, { signal }), {
    everyMs: 15_000,
  })
  const value = profile.value
  const name = value?.name ?? ''
  useTitle(name)
  if (!value)
    return profile.error ? (
      <Failure error={profile.error} retry={profile.reload}>
        <a class="button" href={linkTo('profiles')}>
          All profiles
        </a>
      </Failure>
    ) : (
      <Loading />
    )
  return (
    <>
      <ProfileHead org={org} id={id} name={name} onChoose={setDialog} />
      <p class="label">
        Version {value.version}, {value.model ? `model ${value.model}` : 'any model'}, changed {moment(value.updatedAt)}
        {value.description ? `. ${value.description}` : ''}
      </p>
      <ProfileDevices org={org} profile={value} />
      <ProfileVersions org={org} profile={value} onRolledBack={profile.reload} />
      <section class="card panel" aria-label="Settings">
        <h2>Settings</h2>
        <SettingsTable settings={value.settings} />
      </section>
      {dialog === 'edit' ? (
        <ProfileDialog
          org={org}
          profile={value}
          onClose={() => setDialog(null)}
          onSaved={() => {
            setDialog(null)
            profile.reload()
          }}
        />
      ) : null}
      {dialog === 'delete' ? (
        <Dialog
          title={`Delete the profile ${name}?`}
          submitLabel="Delete"
          danger
          onClose={() => setDialog(null)}
          onSubmit={async () => {
            await remove(`/orgs/${org}/configs/${id}`, {
              headers: { 'If-Match': `"${value.version}"` },
            })
            goTo('profiles')
          }}
        >
          <p>
            Its versions are deleted, except those that failed jobs need for a retry. Devices keep the settings that
            they have.
          </p>
        </Dialog>
      ) : null}
    </>
  )
}

type ProfileAction = 'edit' | 'delete'
type ProfileHeadProps = { org: string; id: string; name: string; onChoose: (action: ProfileAction) => void }

const ProfileHead = ({ org, id, name, onChoose }: ProfileHeadProps) => (
  <div class="page-head">
    <h1>
      <a href={linkTo('profiles')}>Profiles</a> / {name}
    </h1>
    <ForScope org={org} scope="config:write">
      <button type="button" class="button" onClick={() => onChoose('edit')}>
        Edit
      </button>
      <button type="button" class="button danger" onClick={() => onChoose('delete')}>
        Delete
      </button>
    </ForScope>
    <ForScope org={org} scope="config:apply">
      <a class="button primary" href={linkTo('jobs', { new: 'apply_config', profile: id })}>
        Apply
      </a>
    </ForScope>
  </div>
)
