import { useState } from 'preact/hooks'
import { type KnownSetting, knownSections, readSetting, writeSetting } from '../../state/known-settings.ts'
import { isObject, isSetSecret } from '../../state/profile-settings.ts'
import css from './profiles.module.css'

type Settings = { [key: string]: unknown }
type SettingsFormProps = { settings: Settings; onChange: (settings: Settings) => void }

/** Fields for the settings that the page knows. All others stay in the JSON. */
export const SettingsForm = ({ settings, onChange }: SettingsFormProps) => (
  <div class={css.settingsForm}>
    {knownSections.map(({ title, settings: known }) => (
      <fieldset key={title} class="plain">
        <legend class="label">{title}</legend>
        {known.map((setting) => (
          <Field
            key={setting.path.join('.')}
            setting={setting}
            section={title}
            value={readSetting(settings, setting.path)}
            onChange={(value) => onChange(writeSetting(settings, setting.path, value))}
          />
        ))}
      </fieldset>
    ))}
  </div>
)

type FieldProps = {
  setting: KnownSetting
  section: string
  value: unknown
  onChange: (value: unknown) => void
}

function Field({ setting, section, value, onChange }: FieldProps) {
  const { label, kind, choices = [], min, max, format } = setting
  const name = `${section}: ${label}`
  // A secret that is set stays when the reader clears the new one.
  const [original] = useState(value)
  if (kind === 'boolean' || kind === 'choice') {
    const options = kind === 'boolean' ? ['true', 'false'] : choices
    const words: Record<string, string> = { true: 'On', false: 'Off' }
    return (
      <label class="field">
        <span>{label}</span>
        <select
          class="input"
          aria-label={name}
          value={value === undefined ? '' : String(value)}
          onChange={({ currentTarget: { value: text } }) =>
            onChange(text === '' ? undefined : kind === 'boolean' ? text === 'true' : text)
          }
        >
          <option value="">Unchanged on the router</option>
          {options.map((option) => (
            <option key={option} value={option}>
              {words[option] ?? option.toUpperCase()}
            </option>
          ))}
        </select>
      </label>
    )
  }
  const isSet = isSetSecret(original)
  const input = {
    class: 'input',
    'aria-label': name,
    autocomplete: 'off',
    value: kind === 'secret' ? newSecret(value) : value === undefined || isObject(value) ? '' : String(value),
    onInput: ({ currentTarget: { value: text } }: { currentTarget: HTMLInputElement }) => {
      if (kind === 'secret') onChange(text !== '' ? { $secret: text } : isSet ? original : undefined)
      else onChange(text === '' ? undefined : kind === 'number' ? Number(text) : text)
    },
  }
  return (
    <div class="field">
      <span>{label}</span>
      {kind === 'number' ? (
        <input {...input} type="number" min={min} max={max} />
      ) : kind === 'secret' ? (
        <input
          {...input}
          type="password"
          pattern={format?.pattern.source}
          title={format?.about}
          placeholder={isSet ? 'Set. Enter a new one to replace it' : 'Not set'}
        />
      ) : (
        <input {...input} type="text" />
      )}
      {format && input.value !== '' && !format.pattern.test(input.value) ? (
        <span class="hint" role="alert">
          {format.about}
        </span>
      ) : null}
    </div>
  )
}

/** The secret that the reader types; '' for one that is set. */
const newSecret = (value: unknown): string =>
  isObject(value) && typeof value.$secret === 'string' ? value.$secret : ''
