import { useState } from 'preact/hooks'
import { ApiError, call } from '../../api/client.ts'
import type { Json, Profile } from '../../api/types.ts'
import { Conflict } from '../../components/conflict.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { isObject, mergePatch } from '../../state/profile-settings.ts'
import { SettingsForm } from './settings-form.tsx'

type ProfileDialogProps = {
  org: string
  profile: Profile | undefined
  onClose: () => void
  onSaved: (profile: Profile) => void
}

type Settings = { [key: string]: Json }

function parse(text: string): Settings {
  let parsed: Json
  try {
    parsed = JSON.parse(text) as Json
  } catch (error) {
    throw new ApiError(0, 'json', `Invalid JSON in the settings: ${(error as Error).message}`)
  }
  if (!isObject(parsed)) throw new ApiError(0, 'json', 'The settings must be a JSON object.')
  return parsed
}

function tryParse(text: string): Settings | undefined {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

/** Edits a profile with fields, or as JSON. Placeholders stand for secrets that are set. */
export function ProfileDialog({ org, profile, onClose, onSaved }: ProfileDialogProps) {
  const [base, setBase] = useState(profile)
  const [name, setName] = useState(profile?.name ?? '')
  const [model, setModel] = useState(profile?.model ?? '')
  const [text, setText] = useState(JSON.stringify(profile?.settings ?? {}, null, 2))
  const [asJson, setAsJson] = useState(false)
  const [hasConflict, setHasConflict] = useState(false)
  const settings = tryParse(text)

  const save = async () => {
    const parsed = parse(text)
    const facts = { name: name.trim(), model: model.trim() || null }
    if (!base) return call<Profile>(`/orgs/${org}/configs`, { method: 'POST', body: { ...facts, settings: parsed } })
    const body: Record<string, unknown> = {}
    if (facts.name !== base.name) body.name = facts.name
    if (facts.model !== base.model) body.model = facts.model
    const patch = mergePatch(base.settings, parsed)
    if (Object.keys(patch).length > 0) body.settings = patch
    if (Object.keys(body).length === 0) return base
    return call<Profile>(`/orgs/${org}/configs/${base.id}`, {
      method: 'PATCH',
      body,
      headers: { 'If-Match': `"${base.version}"` },
    })
  }
  const loadCurrent = async () => {
    const current = await call<Profile>(`/orgs/${org}/configs/${base?.id}`)
    setBase(current)
    setName(current.name)
    setModel(current.model ?? '')
    setText(JSON.stringify(current.settings, null, 2))
    setHasConflict(false)
  }
  return (
    <Dialog
      title={base ? `Edit ${base.name}` : 'New profile'}
      submitLabel="Save"
      onClose={onClose}
      onSubmit={async () => {
        try {
          onSaved(await save())
        } catch (error) {
          if (!(error instanceof ApiError) || error.status !== 412) throw error
          setHasConflict(true)
        }
      }}
    >
      {hasConflict ? <Conflict what="profile" onReload={() => void loadCurrent()} /> : null}
      <label class="field">
        <span>Name</span>
        <input class="input" required maxLength={200} value={name} onInput={(e) => setName(e.currentTarget.value)} />
      </label>
      <label class="field">
        <span>Model (leave empty for any model)</span>
        <input class="input" maxLength={200} value={model} onInput={(e) => setModel(e.currentTarget.value)} />
      </label>
      <div class="segmented" style={{ justifySelf: 'start' }}>
        <button type="button" aria-pressed={!asJson} disabled={!settings} onClick={() => setAsJson(false)}>
          Form
        </button>
        <button type="button" aria-pressed={asJson} onClick={() => setAsJson(true)}>
          JSON
        </button>
      </div>
      {asJson || !settings ? (
        <>
          <label class="field">
            <span>Settings (JSON)</span>
            <textarea
              class="input"
              spellcheck={false}
              rows={14}
              value={text}
              onInput={(event) => setText(event.currentTarget.value)}
            />
          </label>
          <p class="label">
            A secret that is set appears as <code>{'{"$secret": {"set": true, …}}'}</code>. Leave it unchanged to keep
            the secret, or enter <code>{'{"$secret": "new value"}'}</code> to replace it. Values of keys such as
            password, token and psk are always secret.
          </p>
        </>
      ) : (
        <SettingsForm settings={settings} onChange={(next) => setText(JSON.stringify(next, null, 2))} />
      )}
    </Dialog>
  )
}
