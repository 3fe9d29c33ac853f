import { useEffect, useState } from 'preact/hooks'
import { ApiError, get, patch, post, remove } from '../../api/client.ts'
import type { Place } from '../../api/schemas.ts'
import { CheckedForm, useChecked } from '../../components/checked-form.tsx'
import { Conflict } from '../../components/conflict.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { type Entity, ifMatch, useEntity } from '../../components/entity.ts'
import { clearField } from '../../components/field-errors.ts'
import { ForScope, NeedsScope } from '../../components/needs-scope.tsx'
import { useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { useTitle } from '../../components/title.ts'
import { useUnsaved } from '../../components/unsaved.tsx'
import { wordsOf } from '../../components/words.ts'
import type { LonLat } from '../../route/geometry.ts'
import { canDrawMap } from '../../state/map-support.ts'
import { holds } from '../../state/session.ts'
import { goTo, linkTo } from '../../state/url.ts'
import { DevicesHere } from './devices-here.tsx'
import { addPointTo, areaOf, draftOf, emptyDraft, finishOf } from './draft.ts'
import { DrawingFields } from './drawing-fields.tsx'
import { OperatorsHere } from './operators-here.tsx'
import { PlaceMap } from './place-map.tsx'
import css from './places.module.css'

/** How often an empty fleet is read again, until its first device reports a position. */
const emptyFleetEveryMs = 5_000

const toList = () => goTo('alerts', { tab: 'places' })

/** Draws a new place, or shows and edits one; `id` is `new` for a new one. */
export function PlaceDetail({ org, id }: { org: string; id: string }) {
  if (id !== 'new') return <ExistingPlace org={org} id={id} />
  return (
    <NeedsScope org={org} scope="place:write" title="New place">
      <PlaceEditor org={org} />
    </NeedsScope>
  )
}

function ExistingPlace({ org, id }: { org: string; id: string }) {
  const found = useEntity(`/orgs/${org}/places/${id}`)
  if (!found.value)
    return found.error ? (
      <Failure error={found.error} retry={found.reload}>
        <a class="button" href={linkTo('alerts', { tab: 'places' })}>
          All places
        </a>
      </Failure>
    ) : (
      <Loading />
    )
  return <PlaceEditor key={found.value.tag} org={org} place={found.value} reload={found.reload} />
}

type PlaceEditorProps = { org: string; place?: Entity<Place>; reload?: () => void }

function PlaceEditor({ org, place, reload }: PlaceEditorProps) {
  const [draft, setDraft] = useState(place ? draftOf(place.value.area) : emptyDraft)
  const [centre, setCentre] = useState<LonLat>([0, 0])
  const [hasConflict, setConflict] = useState(false)
  const [isDeleting, setDeleting] = useState(false)
  const [isSaved, setSaved] = useState(false)
  const fleet = useFleetBox(org)
  useTitle(place?.value.name ?? 'New place')
  const mayWrite = holds(org, 'place:write')
  const area = areaOf(draft)
  const path = `/orgs/${org}/places` as const
  const unsaved = useUnsaved(({ view, params }) => view !== 'alerts' || params.place !== (place?.value.id ?? 'new'))
  const draw = (next: Parameters<typeof setDraft>[0]) => {
    if (!mayWrite) return
    unsaved.noteChange()
    setDraft(next)
  }
  const checked = useChecked(async (form) => {
    setConflict(false)
    setSaved(false)
    if (!area) return
    const body = { name: String(form.get('name')).trim(), tags: wordsOf(String(form.get('tags'))), area }
    try {
      if (place) {
        const headers = ifMatch(place.tag)
        await patch(`${path}/${place.value.id}`, { headers, body })
        setSaved(true)
        unsaved.forget()
        reload?.()
      } else {
        const { id } = await post(path, { body })
        unsaved.forget()
        goTo('alerts', { tab: 'places', place: id })
      }
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 412 && reload)) throw error
      setConflict(true)
    }
  })
  useClearedCorners(checked.form, area !== undefined)
  return (
    <div class={css.placeEditor}>
      <CheckedForm checked={checked} class={css.placeForm} label="Place" onInput={unsaved.noteChange}>
        <fieldset class={css.fields} disabled={!mayWrite}>
          <NameFields place={place?.value} />
          <DrawingFields draft={draft} centre={canDrawMap.value ? centre : null} onChange={draw} />
        </fieldset>
        {hasConflict && reload ? <Conflict what="place" onReload={reload} /> : checked.refusal}
        {isSaved ? <Saved /> : null}
        <PlaceActions
          org={org}
          place={place?.value}
          canSave={!checked.busy}
          onCancel={unsaved.forget}
          onDelete={() => setDeleting(true)}
        />
        {place ? <DevicesHere org={org} placeId={place.value.id} /> : null}
        {place ? <OperatorsHere org={org} placeId={place.value.id} /> : null}
      </CheckedForm>
      <div class={css.placeMap}>
        {place || fleet.value || fleet.error ? (
          <PlaceMap
            org={org}
            draft={draft}
            home={fleet.value?.bounds ?? null}
            onPoint={(point) => draw((before) => addPointTo(before, point))}
            onFinish={() => draw(finishOf)}
            onLook={setCentre}
          />
        ) : null}
      </div>
      {unsaved.question}
      {isDeleting && place ? (
        <DeleteDialog org={org} place={place.value} onClose={() => setDeleting(false)} onDeleted={unsaved.forget} />
      ) : null}
    </div>
  )
}

/** Removes the fault of the corners when they make an area: they are also set by clicks on the map, which are no input of the field. */
function useClearedCorners(form: ReturnType<typeof useChecked>['form'], isArea: boolean) {
  useEffect(() => {
    const corners = form.current?.querySelector<HTMLElement>('[data-member="area"]')
    if (corners && isArea) clearField(corners)
  }, [isArea])
}

const NameFields = ({ place }: { place: Place | undefined }) => (
  <>
    <h1>
      <a href={linkTo('alerts', { tab: 'places' })}>Places</a> / {place?.name ?? 'New place'}
    </h1>
    <label class="field">
      <span>Name</span>
      <input class="input" name="name" required maxLength={200} defaultValue={place?.name ?? ''} />
    </label>
    <label class="field">
      <span>Tags, separated by commas</span>
      <input class="input" name="tags" defaultValue={place?.tags.join(', ') ?? ''} />
    </label>
  </>
)

/** Reads the box of the organization's devices; null while none has a position. */
function useFleetBox(org: string) {
  const [isFleetEmpty, setFleetEmpty] = useState(false)
  return useResource(
    `fleet box ${org}`,
    async (signal) => {
      const query = { orgId: org, layers: ['devices' as const] }
      const bounds = (await get('/fleet/tiles.json', { signal, query })).fleet?.bounds ?? null
      setFleetEmpty(bounds === null)
      return { bounds }
    },
    { everyMs: isFleetEmpty ? emptyFleetEveryMs : 0 },
  )
}

const Saved = () => (
  <p class="notice" role="status">
    Saved.
  </p>
)

type PlaceActionsProps = {
  org: string
  place: Place | undefined
  canSave: boolean
  onCancel: () => void
  onDelete: () => void
}

const PlaceActions = ({ org, place, canSave, onCancel, onDelete }: PlaceActionsProps) => (
  <div class="toolbar">
    <ForScope org={org} scope="place:write">
      <button type="submit" class="button primary" disabled={!canSave}>
        {place ? 'Save' : 'Create place'}
      </button>
      <a class="button" href={linkTo('alerts', { tab: 'places' })} onClick={onCancel}>
        Cancel
      </a>
    </ForScope>
    {place ? (
      <>
        <a class="button" href={linkTo('map', { place: place.id, org })}>
          Show on map
        </a>
        <ForScope org={org} scope="place:write">
          <button type="button" class={`button danger ${css.push}`} onClick={onDelete}>
            Delete
          </button>
        </ForScope>
      </>
    ) : null}
  </div>
)

type DeleteDialogProps = { org: string; place: Place; onClose: () => void; onDeleted: () => void }

const DeleteDialog = ({ org, place, onClose, onDeleted }: DeleteDialogProps) => (
  <Dialog
    title={`Delete the place ${place.name}?`}
    submitLabel="Delete"
    danger
    onClose={onClose}
    onSubmit={async () => {
      await remove(`/orgs/${org}/places/${place.id}`)
      onDeleted()
      toList()
    }}
  >
    <p>Devices and dwells are not deleted. A place that an alert rule uses cannot be deleted.</p>
  </Dialog>
)
