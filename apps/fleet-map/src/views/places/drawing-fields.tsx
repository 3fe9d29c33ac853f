import { useState } from 'preact/hooks'
import { FieldFault, faultProps } from '../../components/field-fault.tsx'
import { plural } from '../../components/format.ts'
import type { LonLat } from '../../route/geometry.ts'
import { cornersText, readCorners } from './area-text.ts'
import { addPointTo, areaOf, type Draft, emptyDraft, finishOf, undoPointOf } from './draft.ts'
import css from './places.module.css'

type DrawingFieldsProps = {
  draft: Draft
  /** The centre of the map, where keyboard users add points; null without a map. */
  centre: LonLat | null
  onChange: (draft: Draft) => void
}

/** Chooses the shape of an area and edits it without the map. */
export function DrawingFields({ draft, centre, onChange }: DrawingFieldsProps) {
  return (
    <>
      <fieldset class="field plain">
        <legend class="label">Shape</legend>
        <div class="segmented">
          {(['Polygon', 'Circle'] as const).map((shape) => (
            <button
              key={shape}
              type="button"
              aria-pressed={draft.shape === shape}
              onClick={() => onChange({ ...draft, shape })}
            >
              {shape}
            </button>
          ))}
        </div>
      </fieldset>
      {draft.shape === 'Polygon' ? (
        <PolygonFields draft={draft} centre={centre} onChange={onChange} />
      ) : (
        <CircleFields draft={draft} centre={centre} onChange={onChange} />
      )}
    </>
  )
}

const tooFewCorners = 'An area has at least three corners. Click them on the map, or enter them here.'

const polygonHelp = ({ corners, isOpen }: Draft): string =>
  !isOpen
    ? `${corners.length} corners.`
    : corners.length === 0
      ? 'Click the map to set the first corner.'
      : corners.length < 3
        ? 'Click the map to add corners. An area has at least three.'
        : 'Click to add corners. Double-click or choose Finish to end.'

function PolygonFields({ draft, centre, onChange }: DrawingFieldsProps) {
  const [typed, setTyped] = useState<string>()
  const [fault, setFault] = useState<string>()
  const read = (text: string) => {
    setTyped(text)
    const corners = readCorners(text)
    setFault(typeof corners === 'string' ? corners : undefined)
    if (typeof corners !== 'string') onChange({ ...draft, corners, isOpen: corners.length < 3 })
  }
  const draw = (next: Draft) => {
    setTyped(undefined)
    setFault(undefined)
    onChange(next)
  }
  return (
    <>
      <p class="label" role="status">
        {centre ? polygonHelp(draft) : plural(draft.corners.length, 'corner')}
      </p>
      <div class="toolbar">
        {draft.isOpen ? (
          <>
            <button
              type="button"
              class="button small"
              disabled={draft.corners.length < 3}
              onClick={() => draw(finishOf(draft))}
            >
              Finish
            </button>
            {centre ? (
              <button type="button" class="button small" onClick={() => draw(addPointTo(draft, centre))}>
                Add corner at map centre
              </button>
            ) : null}
          </>
        ) : (
          <button type="button" class="button small" onClick={() => draw({ ...draft, isOpen: true })}>
            Add corners
          </button>
        )}
        <button
          type="button"
          class="button small"
          disabled={draft.corners.length === 0}
          onClick={() => draw(undoPointOf(draft))}
        >
          Undo
        </button>
        <button
          type="button"
          class="button small"
          disabled={draft.corners.length === 0}
          onClick={() => draw(emptyDraft)}
        >
          Clear
        </button>
      </div>
      <div class="field">
        <label class="label" for="corners">
          Corners: latitude, longitude on each line, or GeoJSON
        </label>
        <textarea
          id="corners"
          data-member="area"
          data-fault={areaOf(draft) ? undefined : tooFewCorners}
          {...faultProps({ id: 'corners-fault', text: fault })}
          class={`input ${css.corners}`}
          rows={5}
          spellcheck={false}
          value={typed ?? cornersText(draft.corners)}
          onInput={(event) => read(event.currentTarget.value)}
          onBlur={() => fault === undefined && setTyped(undefined)}
        />
        <FieldFault id="corners-fault" text={fault} />
      </div>
    </>
  )
}

type Centre = { lat?: number | undefined; lon?: number | undefined }

function CircleFields({ draft, centre, onChange }: DrawingFieldsProps) {
  // A centre needs both: the one that is typed first waits for the other.
  const [first, setFirst] = useState<Centre>({})
  const { lat, lon }: Centre = draft.centre ? { lon: draft.centre[0], lat: draft.centre[1] } : first
  const read = (typed: Centre) => {
    const next = { lat, lon, ...typed }
    if (next.lat === undefined || next.lon === undefined) setFirst(next)
    else onChange({ ...draft, centre: [next.lon, next.lat] })
  }
  return (
    <>
      {centre ? (
        <p class="label" role="status">
          {draft.centre ? 'Click the map to move the centre.' : 'Click the map to set the centre.'}
        </p>
      ) : null}
      <div class="triple">
        <NumberField
          label="Latitude"
          name="lat"
          value={lat}
          min={-90}
          max={90}
          onChange={(next) => read({ lat: next })}
        />
        <NumberField
          label="Longitude"
          name="lon"
          value={lon}
          min={-180}
          max={180}
          onChange={(next) => read({ lon: next })}
        />
        <NumberField
          label="Radius (m)"
          name="radiusM"
          value={draft.radiusM}
          min={10}
          max={100_000}
          onChange={(radiusM) => onChange({ ...draft, radiusM })}
        />
      </div>
      {centre ? (
        <div class="toolbar">
          <button type="button" class="button small" onClick={() => onChange(addPointTo(draft, centre))}>
            Centre at map centre
          </button>
        </div>
      ) : null}
    </>
  )
}

type NumberFieldProps = {
  label: string
  name: string
  value: number | undefined
  min: number
  max: number
  onChange: (value: number) => void
}

/** A field for a number. Keeps what is typed while it is not a number yet, such as the point of "51.95". */
function NumberField({ label, name, value, min, max, onChange }: NumberFieldProps) {
  const [typed, setTyped] = useState<{ text: string; value: number | undefined }>()
  const read = ({ value: text, valueAsNumber: next }: HTMLInputElement) => {
    setTyped({ text, value: Number.isFinite(next) ? next : value })
    if (Number.isFinite(next)) onChange(next)
  }
  return (
    <label class="field">
      <span>{label}</span>
      <input
        class="input"
        type="number"
        name={name}
        required
        step="any"
        min={min}
        max={max}
        value={typed && typed.value === value ? typed.text : (value ?? '')}
        onInput={(event) => read(event.currentTarget)}
      />
    </label>
  )
}
