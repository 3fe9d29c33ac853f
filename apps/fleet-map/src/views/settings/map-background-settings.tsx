import { useState } from 'preact/hooks'
import { get, put } from '../../api/client.ts'
import type { MapSettings } from '../../api/schemas.ts'
import { CheckedForm, useChecked } from '../../components/checked-form.tsx'
import { useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { useUnsaved } from '../../components/unsaved.tsx'
import { choiceOf, type MapChoice, settingsOf, whoSees } from './map-choice.ts'
import { SectionHead } from './section.tsx'
import css from './settings.module.css'

const backgrounds: { value: MapChoice['background']; label: string; about: string }[] = [
  { value: 'offline', label: 'Map of the world', about: 'Land, borders and towns, from this server' },
  { value: 'openfreemap', label: 'Streets of OpenFreeMap', about: 'A free public server, without a key' },
  { value: 'style', label: 'Another map style', about: 'A MapLibre style of your own tile server or of a provider' },
  { value: 'pmtiles', label: 'PMTiles file', about: 'A file on the servers of the control plane' },
]

/** What the map draws below the fleet, for the whole installation. */
export function MapBackgroundSettings() {
  const read = useResource('map settings', (signal) => get('/map-settings', { signal }))
  if (read.error) return <Failure error={read.error} retry={read.reload} />
  if (!read.value) return <Loading />
  const { stored, environment } = read.value
  return (
    <>
      <SectionHead title="Map background" about="What the map draws below the fleet, for all organizations." />
      {environment.length > 0 ? (
        <p class="notice">
          The control plane was started with {environment.join(' and ')}, which{' '}
          {environment.length > 1 ? 'win' : 'wins'} over what is set here.
        </p>
      ) : null}
      <MapForm stored={stored} />
    </>
  )
}

function MapForm({ stored }: { stored: MapSettings }) {
  const [choice, setChoice] = useState(choiceOf(stored))
  const [isSaved, setSaved] = useState(false)
  const unsaved = useUnsaved(({ view, params }) => view !== 'settings' || params.section !== 'map')
  const change = (changed: Partial<MapChoice>) => {
    setSaved(false)
    unsaved.noteChange()
    setChoice((before) => ({ ...before, ...changed }))
  }
  const checked = useChecked(async () => {
    await put('/map-settings', { body: settingsOf(choice) })
    unsaved.forget()
    setSaved(true)
  })
  return (
    <CheckedForm checked={checked} class="stack" label="Map background">
      <section class="card panel" aria-label="Background">
        {backgrounds.map(({ value, label, about }) => (
          <label key={value} class="choice">
            <input
              type="radio"
              name="background"
              value={value}
              checked={choice.background === value}
              onChange={() => change({ background: value })}
            />
            <span class="stacked">
              {label} <span class="hint">{about}</span>
            </span>
          </label>
        ))}
        <BackgroundFields choice={choice} onChange={change} />
      </section>
      <section class="card panel" aria-label="Satellite images">
        <label class="choice">
          <input
            type="checkbox"
            checked={choice.hasSatellite}
            onChange={(event) => change({ hasSatellite: event.currentTarget.checked })}
          />
          <span>
            Satellite images
            <span class="hint"> that a reader can choose on the map</span>
          </span>
        </label>
        {choice.hasSatellite ? <SatelliteFields choice={choice} onChange={change} /> : null}
      </section>
      <p class="label">{whoSees(settingsOf(choice))}</p>
      {checked.refusal}
      {isSaved ? (
        <p class="notice" role="status">
          Saved. A page shows it when it is loaded again.{' '}
          <button type="button" class="button small" onClick={() => location.reload()}>
            Reload this page
          </button>
        </p>
      ) : null}
      <div class="toolbar">
        <button type="submit" class="button primary" disabled={checked.busy}>
          Save
        </button>
      </div>
      {unsaved.question}
    </CheckedForm>
  )
}

type FieldsProps = { choice: MapChoice; onChange: (changed: Partial<MapChoice>) => void }

function BackgroundFields({ choice, onChange }: FieldsProps) {
  if (choice.background === 'pmtiles')
    return <TextField label="Path of the file" name="file" required choice={choice} onChange={onChange} />
  if (choice.background !== 'style') return null
  return (
    <div class={css.fields}>
      <TextField
        label="Address of the style"
        name="styleUrl"
        inputMode="url"
        required
        choice={choice}
        onChange={onChange}
      />
      <TextField
        label="Address of the dark style (optional)"
        name="darkStyleUrl"
        inputMode="url"
        choice={choice}
        onChange={onChange}
      />
      <TextField
        label="Other origins of its tiles, fonts and images, separated by commas (optional)"
        name="origins"
        placeholder="https://tiles.example.com"
        choice={choice}
        onChange={onChange}
      />
    </div>
  )
}

const SatelliteFields = ({ choice, onChange }: FieldsProps) => (
  <div class={css.fields}>
    <TextField
      label="Address of the tiles, with {z}, {x} and {y}"
      name="tilesUrl"
      placeholder="https://images.example.com/{z}/{x}/{y}.jpg"
      required
      choice={choice}
      onChange={onChange}
    />
    <TextField label="Attribution" name="attribution" choice={choice} onChange={onChange} />
    <TextField
      label="Highest zoom"
      name="maxZoom"
      type="number"
      min={0}
      max={24}
      required
      choice={choice}
      onChange={onChange}
    />
  </div>
)

type TextFieldProps = FieldsProps & {
  label: string
  name: Exclude<keyof MapChoice, 'background' | 'hasSatellite'>
  inputMode?: 'url'
  type?: 'number'
  min?: number
  max?: number
  required?: boolean
  placeholder?: string
}

const TextField = ({ label, name, choice, onChange, ...input }: TextFieldProps) => (
  <label class="field">
    <span>{label}</span>
    <input
      class="input"
      name={name}
      value={choice[name]}
      onInput={(event) => onChange({ [name]: event.currentTarget.value })}
      {...input}
    />
  </label>
)
