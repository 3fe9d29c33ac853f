import { useRef, useState } from 'preact/hooks'
import { all, post, remove } from '../../api/client.ts'
import type { SavedView } from '../../api/schemas.ts'
import { useAction } from '../../components/action.ts'
import { Dialog } from '../../components/dialog.tsx'
import { FailureNotice } from '../../components/notice.tsx'
import { useResource } from '../../components/resource.ts'
import { holds } from '../../state/session.ts'
import { place } from '../../state/url.ts'

/** The present view without the selected moment, as saved views keep it. */
const here = (): string => location.hash.replace(/^#\/?/, '') || place.value.view

/** The views in the order of their names: those of this part of the page, and then the others. */
const partsOf = (list: readonly SavedView[]): [title: string, views: SavedView[]][] => {
  const isHere = ({ place: saved }: SavedView) => saved.split('?')[0] === place.value.view
  const [here, others] = [list.filter(isHere), list.filter((one) => !isHere(one))]
  return [['On this page', here] as const, ['Elsewhere', others] as const].flatMap(([title, views]) =>
    views.length > 0 ? [[title, views]] : [],
  )
}

/** Opens, saves, deletes and shares views of the map and of the device list. */
export function SavedViews({ org }: { org: string }) {
  const [isSaving, setIsSaving] = useState(false)
  const [chosen, setChosen] = useState('')
  const [copied, setCopied] = useState(false)
  const views = useResource(`views ${org}`, async () => (org ? all(`/orgs/${org}/views`) : []))
  const list = views.value ?? []
  const own = list.find(({ id, isOwn }) => id === chosen && isOwn)
  const open = (id: string) => {
    setChosen(id)
    const view = list.find((one) => one.id === id)
    if (view) location.hash = `#/${view.place}`
  }
  const { busy, failure, run } = useAction()
  const copy = async () => {
    // Without TLS, browsers offer no clipboard.
    if (!navigator.clipboard) throw new Error('This browser cannot copy the link. Copy it from the address bar.')
    await navigator.clipboard.writeText(location.href)
    setCopied(true)
    setTimeout(() => setCopied(false), 2_000)
  }
  if (!org) return null
  return (
    <>
      {list.length > 0 ? (
        <label class="field">
          <span>Saved views</span>
          <select class="input" value={chosen} onChange={(event) => open(event.currentTarget.value)}>
            <option value="">Choose a view</option>
            {partsOf(list).map(([title, part]) => (
              <optgroup key={title} label={title}>
                {part.map(({ id, name: label, shared: isShared }) => (
                  <option key={id} value={id}>
                    {label}
                    {isShared ? ' (shared)' : ''}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        </label>
      ) : null}
      <div class="pair">
        <button type="button" class="button small" onClick={() => setIsSaving(true)}>
          Save view
        </button>
        <button type="button" class="button small" onClick={() => run(copy)}>
          <span aria-live="polite">{copied ? 'Link copied' : 'Copy link'}</span>
        </button>
      </div>
      <FailureNotice reason={failure} />
      {own ? (
        <button
          type="button"
          class="button quiet small"
          disabled={busy}
          onClick={() =>
            run(async () => {
              await remove(`/orgs/${org}/views/${own.id}`)
              setChosen('')
              views.reload()
            })
          }
        >
          Delete the view {own.name}
        </button>
      ) : null}
      {isSaving ? (
        <SaveDialog
          org={org}
          onClose={() => setIsSaving(false)}
          onSaved={(id) => {
            setIsSaving(false)
            setChosen(id)
            views.reload()
          }}
        />
      ) : null}
    </>
  )
}

type SaveDialogProps = { org: string; onClose: () => void; onSaved: (id: string) => void }

function SaveDialog({ org, onClose, onSaved }: SaveDialogProps) {
  const name = useRef<HTMLInputElement>(null)
  const shared = useRef<HTMLInputElement>(null)
  return (
    <Dialog
      title="Save this view"
      submitLabel="Save"
      onClose={onClose}
      onSubmit={async () => {
        const body = {
          name: name.current?.value.trim() ?? '',
          place: here(),
          shared: shared.current?.checked ?? false,
        }
        onSaved((await post(`/orgs/${org}/views`, { body })).id)
      }}
    >
      <label class="field">
        <span>Name</span>
        <input ref={name} class="input" name="name" required maxLength={100} />
      </label>
      {holds(org, 'org:write') ? (
        <label class="choice">
          <input ref={shared} type="checkbox" />
          Show it to everybody in the organization
        </label>
      ) : null}
      <p class="label">
        {place.value.view === 'devices'
          ? 'The view keeps the filters, the order and the columns.'
          : 'The view keeps the filters, the section of the map, and what is selected.'}
      </p>
    </Dialog>
  )
}
