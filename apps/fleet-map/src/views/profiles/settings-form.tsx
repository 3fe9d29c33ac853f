import { useState } from 'preact/hooks'
import { type Option, withChosen } from '../../components/chosen-option.ts'
import {
  type KnownSetting,
  knownSections,
  memberOf,
  readSetting,
  settingFaults,
  writeSetting,
} from '../../state/known-settings.ts'
import { isObject, isSetSecret, variableOf } from '../../state/profile-settings.ts'
import css from './profiles.module.css'

type Settings = { [key: string]: unknown }
type SettingsFormProps = { settings: Settings; onChange: (settings: Settings) => void }

/** Fields for the settings that the page knows. All others stay in the JSON. */
export function SettingsForm({ settings, onChange }: SettingsFormProps) {
  const faults = new Map(settingFaults(settings).map(({ pointer, detail }) => [pointer, detail]))
  return (
    <div class={css.settingsForm}>
      {knownSections.map(({ title, settings: known }) => (
        <fieldset key={title} class="plain">
          <legend class="label">{title}</legend>
          {known.map((setting) => (
            <Field
              key={setting.path.join('.')}
              setting={setting}
              section={title}
              member={memberOf(settings, setting.path)}
              fault={faults.get(memberOf(settings, setting.path))}
              value={readSetting(settings, setting.path)}
              onChange={(value) => onChange(writeSetting(settings, setting.path, value))}
            />
          ))}
        </fieldset>
      ))}
    </div>
  )
}

type FieldProps = {
  setting: KnownSetting
  section: string
  /** Where the value stands in the body of the request. */
  member: string
  fault: string | undefined
  value: unknown
  onChange: (value: unknown) => void
}

function Field({ setting, section, member, fault, value, onChange }: FieldProps) {
  const { label, kind, choices = [], min, max } = setting
  const name = `${section}: ${label}`
  // A secret that is set, or a variable, stays when the reader clears what replaces it.
  const [original] = useState(value)
  const variable = variableOf(original)
  const kept = isSetSecret(original) || variable !== undefined ? original : undefined
  if (kind === 'boolean' || kind === 'choice') {
    const options = kind === 'boolean' ? ['true', 'false'] : choices
    const words: Record<string, string> = { true: 'On', false: 'Off' }
    const chosen = value === undefined || isObject(value) ? '' : String(value)
    return (
      <label class="field">
        <span>{label}</span>
        <select
          class="input"
          aria-label={name}
          data-member={member}
          value={chosen}
          onChange={({ currentTarget: { value: text } }) =>
            onChange(text === '' ? kept : kind === 'boolean' ? text === 'true' : text)
          }
        >
          <option value="">{variable === undefined ? 'Unchanged on the router' : `Variable ${variable}`}</option>
          {withChosen(
            options.map((option): Option => [option, words[option] ?? option.toUpperCase()]),
            chosen,
          ).map(([option, text]) => (
            <option key={option} value={option}>
              {text}
            </option>
          ))}
        </select>
      </label>
    )
  }
  const placeholder = variable === undefined ? undefined : `Variable ${variable}`
  const input = {
    class: 'input',
    'aria-label': name,
    'data-member': member,
    'data-fault': fault,
    autocomplete: 'off',
    value: kind === 'secret' ? newSecret(value) : value === undefined || isObject(value) ? '' : String(value),
    onInput: ({ currentTarget: { value: text } }: { currentTarget: HTMLInputElement }) => {
      if (text === '') onChange(kept)
      else onChange(kind === 'secret' ? { $secret: text } : kind === 'number' ? Number(text) : text)
    },
  }
  return (
    <div class="field">
      <span>{label}</span>
      {kind === 'number' ? (
        <input {...input} type="number" min={min} max={max} placeholder={placeholder} />
      ) : kind === 'secret' ? (
        <input
          {...input}
          type="password"
          placeholder={placeholder ?? (kept === undefined ? 'Not set' : 'Set. Enter a new one to replace it')}
        />
      ) : (
        <input {...input} type="text" placeholder={placeholder} />
      )}
    </div>
  )
}

/** The secret that the reader types; '' for one that is set. */
const newSecret = (value: unknown): string =>
  isObject(value) && typeof value.$secret === 'string' ? value.$secret : ''
