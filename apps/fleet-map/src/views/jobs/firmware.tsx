import { useState } from 'preact/hooks'
import { post, remove } from '../../api/client.ts'
import type { FirmwareImage } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ago } from '../../components/format.ts'
import { ForScope } from '../../components/needs-scope.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { Chips, type Column, Table } from '../../components/table.tsx'
import { wordsOf } from '../../components/words.ts'
import { holds } from '../../state/session.ts'
import { linkTo } from '../../state/url.ts'
import css from './jobs.module.css'

/** Lists the organization's firmware images. */
export function FirmwareCatalogue({ org }: { org: string }) {
  const [dialog, setDialog] = useState<'add' | FirmwareImage | null>(null)
  const images = usePages(`/orgs/${org}/firmware`, {})
  const done = () => {
    setDialog(null)
    images.reload()
  }
  return (
    <>
      <div class="toolbar">
        <p class="label grow">Routers download an image from its address and verify the checksum.</p>
        <ForScope org={org} scope="job:create">
          <button type="button" class="button" onClick={() => setDialog('add')}>
            Add firmware
          </button>
        </ForScope>
      </div>
      {images.error ? <Failure error={images.error} retry={images.reload} /> : null}
      {images.loading && images.items.length === 0 ? <Loading /> : null}
      {!images.loading && !images.error && images.items.length === 0 ? (
        <Empty title="No firmware yet">
          <p>Add an image to update routers in stages.</p>
        </Empty>
      ) : null}
      {images.items.length > 0 ? (
        <Table
          caption="Firmware"
          columns={holds(org, 'job:create') ? [...columns, actionsColumn(setDialog)] : columns}
          rows={images.items}
          keyOf={({ id }) => id}
        />
      ) : null}
      <MoreButton more={images.more} />
      {dialog === 'add' ? <AddFirmware org={org} onClose={() => setDialog(null)} onDone={done} /> : null}
      {dialog !== null && dialog !== 'add' ? (
        <Dialog
          title={`Delete firmware ${dialog.version}?`}
          submitLabel="Delete"
          danger
          onClose={() => setDialog(null)}
          onSubmit={async () => {
            await remove(`/orgs/${org}/firmware/${dialog.id}`)
            done()
          }}
        >
          <p>Jobs that use this image continue. The file itself is not deleted.</p>
        </Dialog>
      ) : null}
    </>
  )
}

const columns: Column<FirmwareImage>[] = [
  {
    title: 'Version',
    cell: ({ version, notes }) => (
      <>
        <strong>{version}</strong>
        {notes ? <div class="hint">{notes}</div> : null}
      </>
    ),
  },
  { title: 'Models', cell: ({ models }) => (models.length > 0 ? <Chips words={models} /> : 'Any') },
  { title: 'Size', cell: ({ sizeBytes }) => megabytes(sizeBytes), kind: 'number', optional: true },
  {
    title: 'Source',
    cell: ({ url, sha256 }) => (
      <>
        <span class={css.firmwareUrl}>{url}</span>
        <div class="hint">
          SHA-256 <code title={sha256}>{sha256.slice(0, 12)}…</code>
        </div>
      </>
    ),
    optional: true,
  },
  { title: 'Added', cell: ({ createdAt }) => ago(createdAt), optional: true },
]

const actionsColumn = (onDelete: (image: FirmwareImage) => void): Column<FirmwareImage> => ({
  title: 'Actions',
  kind: 'actions',
  cell: (image) => (
    <span class="actions">
      <a class="button small" href={linkTo('jobs', { new: 'firmware_update', image: image.id })}>
        Roll out
      </a>
      <button type="button" class="button quiet small" onClick={() => onDelete(image)}>
        Delete
      </button>
    </span>
  ),
})

const megabytes = (bytes: number | null): string => (bytes === null ? '–' : `${(bytes / 1e6).toFixed(1)} MB`)

/** Adds an image to the catalogue. */
function AddFirmware({ org, onClose, onDone }: { org: string; onClose: () => void; onDone: () => void }) {
  const [image, setImage] = useState({ version: '', url: '', sha256: '', size: '', models: '', notes: '' })
  const field = (name: keyof typeof image) => ({
    class: 'input',
    name: name === 'size' ? 'sizeBytes' : name,
    value: image[name],
    onInput: (event: { currentTarget: HTMLInputElement }) => setImage({ ...image, [name]: event.currentTarget.value }),
  })
  return (
    <Dialog
      title="Add firmware"
      submitLabel="Add"
      onClose={onClose}
      onSubmit={async () => {
        const body = {
          version: image.version,
          url: image.url.trim(),
          sha256: image.sha256.trim(),
          models: wordsOf(image.models),
          ...(image.size ? { sizeBytes: Number(image.size) } : {}),
          ...(image.notes.trim() ? { notes: image.notes } : {}),
        }
        await post(`/orgs/${org}/firmware`, { body })
        onDone()
      }}
    >
      <label class="field">
        <span>Version</span>
        <input {...field('version')} required maxLength={64} />
      </label>
      <label class="field">
        <span>Address (https)</span>
        <input {...field('url')} type="url" required />
      </label>
      <label class="field">
        <span>SHA-256</span>
        <input
          {...field('sha256')}
          required
          pattern="\s*[0-9a-fA-F]{64}\s*"
          title="A SHA-256 checksum has 64 hexadecimal digits."
        />
      </label>
      <label class="field">
        <span>Size in bytes (optional)</span>
        <input {...field('size')} type="number" min={1} />
      </label>
      <label class="field">
        <span>Models, separated by commas (leave empty for any model)</span>
        <input {...field('models')} />
      </label>
      <label class="field">
        <span>Notes (optional)</span>
        <input {...field('notes')} maxLength={1_000} />
      </label>
    </Dialog>
  )
}
