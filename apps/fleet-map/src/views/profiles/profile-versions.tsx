import { useState } from 'preact/hooks'
import { all, post } from '../../api/client.ts'
import type { ConfigProfile, ConfigProfileVersion } from '../../api/schemas.ts'
import { actorText } from '../../components/actor.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ago, moment } from '../../components/format.ts'
import { ForScope } from '../../components/needs-scope.tsx'
import { useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { labelOf } from '../../state/known-settings.ts'
import { diffSettings, type SettingChange } from '../../state/settings-diff.ts'
import { place, setParams } from '../../state/url.ts'
import css from './profiles.module.css'

type ProfileVersionsProps = { org: string; profile: ConfigProfile; onRolledBack: () => void }

/** Compares an earlier version of a profile with the present one, and rolls back to it. */
export function ProfileVersions({ org, profile, onRolledBack }: ProfileVersionsProps) {
  const [confirming, setConfirming] = useState(false)
  const versions = useResource(`versions ${profile.id} ${profile.version}`, () =>
    all(`/orgs/${org}/configs/${profile.id}/versions`),
  )
  const list = versions.value
  if (!list) return versions.error ? <Failure error={versions.error} retry={versions.reload} /> : <Loading rows={3} />
  const current = list.find(({ version }) => version === profile.version)
  const wanted = Number(place.value.params.version)
  const chosen = list.find(({ version }) => version === wanted) ?? list.find(({ version }) => version < profile.version)
  if (!current || !chosen) return null
  const changes = changesBetween(chosen, current)
  const isOld = chosen.version !== current.version
  const columns: Column<SettingChange>[] = [
    { title: 'Setting', cell: ({ path }) => factLabel[path] ?? labelOf(path) ?? <code>{path}</code> },
    { title: `Version ${chosen.version}`, cell: ({ before }) => <Value text={before} look="before" /> },
    { title: `Version ${current.version} (present)`, cell: ({ after }) => <Value text={after} look="after" /> },
  ]
  return (
    <section class={`card panel ${css.profileVersions}`} aria-label="Versions">
      <div class="toolbar">
        <h2 class="grow">Versions</h2>
        <label class="label" for="compared-version">
          Compare with
        </label>
        <select
          id="compared-version"
          class="input"
          value={chosen.version}
          onChange={(event) => setParams({ version: event.currentTarget.value })}
        >
          {list.map(({ version, createdAt, createdBy, createdByName }) => (
            <option key={version} value={version}>
              Version {version}, {ago(createdAt)} by {actorText(createdBy, createdByName)}
            </option>
          ))}
        </select>
        <ForScope org={org} scope="config:write">
          <button type="button" class="button" disabled={!isOld} onClick={() => setConfirming(true)}>
            Roll back
          </button>
        </ForScope>
      </div>
      {changes.length > 0 ? (
        <Table caption="Differences" columns={columns} rows={changes} keyOf={({ path }) => path} />
      ) : (
        <p class="label">{isOld ? 'The two versions have the same content.' : 'This is the present version.'}</p>
      )}
      {confirming ? (
        <Dialog
          title={`Roll back to version ${chosen.version}?`}
          submitLabel="Roll back"
          onClose={() => setConfirming(false)}
          onSubmit={async () => {
            await post(`/orgs/${org}/configs/${profile.id}/roll-back`, {
              body: { version: chosen.version },
              headers: { 'If-Match': `"${profile.version}"` },
            })
            setConfirming(false)
            setParams({ version: null })
            onRolledBack()
          }}
        >
          <p>
            Version {profile.version + 1} gets the settings and secrets of version {chosen.version}. Devices do not
            change until you apply the profile.
          </p>
        </Dialog>
      ) : null}
    </section>
  )
}

const Value = ({ text, look }: { text: string | undefined; look: string }) =>
  text === undefined ? (
    <span class="label">Not set</span>
  ) : (
    <span class={`${css.setting} ${css[look]}`}>{text.replace(secretTime, (at) => moment(at))}</span>
  )

/** When a secret was set, as `diffSettings` says it. */
const secretTime = /(?<=^Secret set )\S+$/

const factLabel: Record<string, string> = { name: 'Name', description: 'Description', model: 'Model' }

/** The differences of name, description, model and settings. */
function changesBetween(before: ConfigProfileVersion, after: ConfigProfileVersion): SettingChange[] {
  const facts = (['name', 'description', 'model'] as const)
    .filter((fact) => before[fact] !== after[fact])
    .map((fact) => ({ path: fact, before: before[fact] ?? undefined, after: after[fact] ?? undefined }))
  return [...facts, ...diffSettings(before.settings, after.settings)]
}
