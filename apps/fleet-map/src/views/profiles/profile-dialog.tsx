import { useState } from 'preact/hooks'
import { ApiError, get, patch, post } from '../../api/client.ts'
import type { ConfigProfile } from '../../api/schemas.ts'
import { Conflict } from '../../components/conflict.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { faultAt } from '../../components/field-errors.ts'
import { settingFaults } from '../../state/known-settings.ts'
import { isObject, mergePatch } from '../../state/profile-settings.ts'
import { SettingsForm } from './settings-form.tsx'

type ProfileDialogProps = {
  org: string
  profile: ConfigProfile | undefined
  onClose: () => void
  onSaved: (profile: ConfigProfile) => void
}

type Settings = { [key: string]: unknown }

function parse(text: string): Settings {
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch (error) {
    throw faultAt('settings', `Invalid JSON in the settings: ${(error as Error).message}`)
  }
  if (!isObject(parsed)) throw faultAt('settings', 'The settings must be a JSON object.')
  return parsed
}

/** Returns settings that the service takes. Throws what the form shows at its fields. */
function checked(settings: Settings): Settings {
  const faults = settingFaults(settings)
  if (faults[0]) throw new ApiError(0, 'invalid', faults[0].detail, null, faults)
  return settings
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
    const parsed = checked(parse(text))
    const facts = { name: name.trim(), model: model.trim() || null }
    if (!base) return post(`/orgs/${org}/configs`, { body: { ...facts, settings: parsed } })
    const body: Record<string, unknown> = {}
    if (facts.name !== base.name) body.name = facts.name
    if (facts.model !== base.model) body.model = facts.model
    const changes = mergePatch(base.settings, parsed)
    if (Object.keys(changes).length > 0) body.settings = changes
    if (Object.keys(body).length === 0) return base
    return patch(`/orgs/${org}/configs/${base.id}`, {
      body,
      headers: { 'If-Match': `"${base.version}"` },
    })
  }
  const loadCurrent = async () => {
    const current = await get(`/orgs/${org}/configs/${base?.id}`)
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
        <input
          class="input"
          name="name"
          required
          maxLength={200}
          value={name}
          onInput={(e) => setName(e.currentTarget.value)}
        />
      </label>
      <label class="field">
        <span>Model (leave empty for any model)</span>
        <input
          class="input"
          name="model"
          maxLength={200}
          value={model}
          onInput={(e) => setModel(e.currentTarget.value)}
        />
      </label>
      <FormSwitch asJson={asJson} canShowForm={settings !== undefined} onChange={setAsJson} />
      {asJson || !settings ? (
        <JsonField text={text} onInput={setText} />
      ) : (
        <SettingsForm settings={settings} onChange={(next) => setText(JSON.stringify(next, null, 2))} />
      )}
    </Dialog>
  )
}

type FormSwitchProps = { asJson: boolean; canShowForm: boolean; onChange: (asJson: boolean) => void }

const FormSwitch = ({ asJson, canShowForm, onChange }: FormSwitchProps) => (
  <div class="segmented" style={{ justifySelf: 'start' }}>
    <button type="button" aria-pressed={!asJson} disabled={!canShowForm} onClick={() => onChange(false)}>
      Form
    </button>
    <button type="button" aria-pressed={asJson} onClick={() => onChange(true)}>
      JSON
    </button>
  </div>
)

const JsonField = ({ text, onInput }: { text: string; onInput: (text: string) => void }) => (
  <>
    <label class="field">
      <span>Settings (JSON)</span>
      <textarea
        class="input"
        name="settings"
        spellcheck={false}
        rows={14}
        value={text}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </label>
    <p class="label">
      A secret that is set appears as <code>{'{"$secret": {"set": true, …}}'}</code>. Leave it unchanged to keep the
      secret, or enter <code>{'{"$secret": "new value"}'}</code> to replace it. Values of keys such as password, token
      and psk are always secret.
    </p>
  </>
)
