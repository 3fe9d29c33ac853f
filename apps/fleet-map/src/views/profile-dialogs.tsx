import { useRef } from 'preact/hooks'
import { ApiError, all, call } from '../api/client.ts'
import type { Batch, Group, Json, Profile } from '../api/types.ts'
import { Dialog } from '../components/dialog.tsx'
import { useResource } from '../components/resource.ts'
import { isObject, mergePatch } from '../state/profile-settings.ts'
import { goTo } from '../state/url.ts'

type ProfileDialogProps = { org: string; profile: Profile | undefined; onClose: () => void; onSaved: () => void }

/** Edits a profile as JSON. Placeholders stand for secrets that are set. */
export function ProfileDialog({ org, profile, onClose, onSaved }: ProfileDialogProps) {
  const name = useRef<HTMLInputElement>(null)
  const model = useRef<HTMLInputElement>(null)
  const settings = useRef<HTMLTextAreaElement>(null)
  const submit = async () => {
    let parsed: Json
    try {
      parsed = JSON.parse(settings.current?.value ?? '') as Json
    } catch (error) {
      throw new ApiError(0, 'json', `Invalid JSON in the settings: ${(error as Error).message}`)
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
        <span>Model (leave empty for any model)</span>
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
            profile?.settings ?? { wifi: { ssid: 'fleet', passphrase: { $secret: 'change-me' } } },
            null,
            2,
          )}
        />
      </label>
      <p class="label">
        A secret that is set appears as <code>{'{"$secret": {"set": true, …}}'}</code>. Leave it unchanged to keep the
        secret, or enter <code>{'{"$secret": "new value"}'}</code> to replace it. Values of keys such as password, token
        and psk are always secret.
      </p>
    </Dialog>
  )
}

/** Applies a profile to every member of a group. */
export function ApplyToGroup({ org, profile, onClose }: { org: string; profile: Profile; onClose: () => void }) {
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
      <p class="label">The jobs use version {profile.version}. Later edits do not change them.</p>
    </Dialog>
  )
}
