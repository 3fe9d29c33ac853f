import { useRef, useState } from 'preact/hooks'
import { ApiError, all, call } from '../api/client.ts'
import type { Batch, Group, Json, Profile } from '../api/types.ts'
import { Dialog } from '../components/dialog.tsx'
import { ago } from '../components/format.ts'
import { Icon } from '../components/icon.tsx'
import { MoreButton, usePages } from '../components/pages.tsx'
import { useResource } from '../components/resource.ts'
import { Empty, Failure, Loading } from '../components/states.tsx'
import { homeOrganizationId } from '../state/session.ts'
import { goTo } from '../state/url.ts'
import { OrganizationPicker } from './shell.tsx'

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** True for the place of a secret that is set: the service never shows the value. */
const isSetSecret = (value: Json): boolean => isObject(value) && isObject(value.$secret) && value.$secret.set === true

/** Paths of secrets inside settings, for the list of what is set. */
function secretPaths(value: Json, path = ''): string[] {
  if (isSetSecret(value)) return [path]
  if (Array.isArray(value)) return value.flatMap((one, index) => secretPaths(one, `${path}/${index}`))
  if (isObject(value)) return Object.entries(value).flatMap(([key, one]) => secretPaths(one, `${path}/${key}`))
  return []
}

/** Turns edited settings into a merge patch: keys that were removed are sent as null. */
function mergePatch(before: { [key: string]: Json }, after: { [key: string]: Json }): { [key: string]: Json } {
  const patch: { [key: string]: Json } = {}
  for (const key of Object.keys(before)) if (!(key in after)) patch[key] = null
  for (const [key, value] of Object.entries(after)) {
    const old = before[key]
    if (isObject(old) && isObject(value) && !isSetSecret(old) && !('$secret' in value)) {
      const inner = mergePatch(old, value)
      if (Object.keys(inner).length > 0) patch[key] = inner
    } else if (JSON.stringify(old) !== JSON.stringify(value)) patch[key] = value
  }
  return patch
}

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

type ProfileDialogProps = { org: string; profile: Profile | undefined; onClose: () => void; onSaved: () => void }

function ProfileDialog({ org, profile, onClose, onSaved }: ProfileDialogProps) {
  const name = useRef<HTMLInputElement>(null)
  const model = useRef<HTMLInputElement>(null)
  const settings = useRef<HTMLTextAreaElement>(null)
  const submit = async () => {
    let parsed: Json
    try {
      parsed = JSON.parse(settings.current?.value ?? '') as Json
    } catch (error) {
      throw new ApiError(0, 'json', `The settings are not JSON: ${(error as Error).message}`)
    }
    if (!isObject(parsed)) throw new ApiError(0, 'json', 'The settings must be a JSON object.')
    const facts = { name: name.current?.value.trim() ?? '', model: model.current?.value.trim() || null }
    if (!profile) {
      await call(`/orgs/${org}/configs`, { method: 'POST', body: { ...facts, settings: parsed } })
    } else {
      const body: Record<string, unknown> = {}
      if (facts.name !== profile.name) body.name = facts.name
      if (facts.model !== profile.model) body.model = facts.model
      const patch = mergePatch(profile.settings, parsed)
      if (Object.keys(patch).length > 0) body.settings = patch
      if (Object.keys(body).length > 0) await call(`/orgs/${org}/configs/${profile.id}`, { method: 'PATCH', body })
    }
    onSaved()
  }
  return (
    <Dialog
      title={profile ? `Edit ${profile.name}` : 'New profile'}
      submitLabel="Save"
      onClose={onClose}
      onSubmit={submit}
    >
      <label class="field">
        <span>Name</span>
        <input ref={name} class="input" required maxLength={200} defaultValue={profile?.name ?? ''} />
      </label>
      <label class="field">
        <span>Model (empty: any)</span>
        <input ref={model} class="input" maxLength={200} defaultValue={profile?.model ?? ''} />
      </label>
      <label class="field">
        <span>Settings (JSON)</span>
        <textarea
          ref={settings}
          class="input"
          spellcheck={false}
          rows={14}
          defaultValue={JSON.stringify(
            profile?.settings ?? { wifi: { ssid: 'fleet', passphrase: { $secret: 'choose one' } } },
            null,
            2,
          )}
        />
      </label>
      <p class="label">
        A value that is set shows as <code>{'{"$secret": {"set": true, …}}'}</code>: leave it to keep the secret, write{' '}
        <code>{'{"$secret": "new value"}'}</code> to replace it. Keys such as password, token or psk are secret by
        themselves.
      </p>
    </Dialog>
  )
}

function ApplyToGroup({ org, profile, onClose }: { org: string; profile: Profile; onClose: () => void }) {
  const select = useRef<HTMLSelectElement>(null)
  const groups = useResource(`groups ${org}`, () => all<Group>(`/orgs/${org}/groups`))
  return (
    <Dialog
      title={`Apply ${profile.name} to a group`}
      submitLabel="Apply"
      onClose={onClose}
      onSubmit={async () => {
        const batch = await call<Batch>(`/orgs/${org}/configs/${profile.id}/apply`, {
          method: 'POST',
          body: { groupId: select.current?.value },
        })
        goTo('jobs', { batch: batch.id })
      }}
    >
      <label class="field">
        <span>Group</span>
        <select ref={select} class="input" required>
          {(groups.value ?? []).map((group) => (
            <option key={group.id} value={group.id}>
              {group.name} ({group.effectiveDeviceCount})
            </option>
          ))}
        </select>
      </label>
      <p class="label">Version {profile.version} is pinned: later edits do not change these jobs.</p>
    </Dialog>
  )
}
