import { useRef, useState } from 'preact/hooks'
import { call, send } from '../api/client.ts'
import type { Device } from '../api/types.ts'
import { Dialog } from '../components/dialog.tsx'
import { ago } from '../components/format.ts'
import { Icon } from '../components/icon.tsx'
import { deviceStatuses, StatusLabel, statusLabel } from '../components/labels.tsx'
import { MoreButton, usePages } from '../components/pages.tsx'
import { Empty, Failure, Loading } from '../components/states.tsx'
import { Chips, type Column, Table } from '../components/table.tsx'
import { homeOrganizationId, organizationId } from '../state/session.ts'
import { linkTo, place, setParams } from '../state/url.ts'
import { ImportDialog } from './import-dialog.tsx'
import { OrganizationPicker } from './shell.tsx'

/** Lists devices with search and filters; adds, imports and exports devices. */
export function DevicesView() {
  const { q = '', status = '', tag = '' } = place.value.params
  const query = { orgId: organizationId.value, q: q.length >= 2 ? q : '', status, tag: tag ? tag.split(',') : null }
  const list = usePages<Device>('/devices', query)
  const [dialog, setDialog] = useState<'add' | 'import' | null>(null)
  const exportAll = async () => {
    const response = await send('/devices/export', {
      query: { ...query, format: 'csv' },
      headers: { Accept: 'text/csv' },
    })
    const link = document.createElement('a')
    link.href = URL.createObjectURL(await response.blob())
    link.download = 'devices.csv'
    link.click()
    URL.revokeObjectURL(link.href)
  }
  return (
    <div class="page">
      <div class="page-inner">
        <div class="page-head">
          <h1>Devices</h1>
          <button type="button" class="button" onClick={exportAll}>
            <Icon name="download" size={16} /> Export
          </button>
          <button type="button" class="button" onClick={() => setDialog('import')}>
            <Icon name="upload" size={16} /> Import CSV
          </button>
          <button type="button" class="button primary" onClick={() => setDialog('add')}>
            <Icon name="plus" size={16} /> Add device
          </button>
        </div>
        <div class="toolbar">
          <input
            class="input grow"
            type="search"
            aria-label="Search by name, serial, model or organization"
            placeholder="Name, serial, model or organization"
            value={q}
            onInput={(event) => setParams({ q: event.currentTarget.value || null }, { replace: true })}
          />
          <select
            class="input"
            aria-label="Status"
            value={status}
            onChange={(event) => setParams({ status: event.currentTarget.value || null })}
          >
            <option value="">Any status</option>
            {deviceStatuses.map((one) => (
              <option key={one} value={one}>
                {statusLabel(one)}
              </option>
            ))}
          </select>
          <input
            class="input"
            aria-label="Tags, separated by commas"
            placeholder="Tags"
            value={tag}
            onChange={(event) => setParams({ tag: event.currentTarget.value.trim() || null })}
          />
          <OrganizationPicker allowAll />
        </div>
        {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
        {list.loading && list.items.length === 0 ? <Loading /> : null}
        {!list.loading && !list.error && list.items.length === 0 ? (
          <Empty title={q || status || tag ? 'No matching devices' : 'No devices yet'}>
            <p>
              {q || status || tag
                ? 'Change the search text or the filters.'
                : 'Add a device, import a CSV file, or enroll routers with an enrollment key.'}
            </p>
          </Empty>
        ) : null}
        {list.items.length > 0 ? (
          <Table caption="Devices" columns={columns} rows={list.items} keyOf={({ id }) => id} />
        ) : null}
        <MoreButton more={list.more} />
      </div>
      {dialog === 'add' ? (
        <AddDialog
          onClose={() => setDialog(null)}
          onAdded={() => {
            setDialog(null)
            list.reload()
          }}
        />
      ) : null}
      {dialog === 'import' ? <ImportDialog onClose={() => setDialog(null)} onImported={list.reload} /> : null}
    </div>
  )
}

const columns: Column<Device>[] = [
  {
    title: 'Name',
    cell: (device) => <a href={linkTo('map', { device: device.id, ...focus(device) })}>{device.name}</a>,
  },
  { title: 'Status', cell: ({ status }) => <StatusLabel status={status} /> },
  { title: 'Serial', cell: ({ serial }) => <code>{serial}</code>, optional: true },
  { title: 'Model', cell: ({ model }) => model, optional: true },
  { title: 'Tags', cell: ({ tags }) => <Chips words={tags} />, optional: true },
  { title: 'Firmware', cell: ({ firmware }) => firmware ?? '–', optional: true },
  { title: 'Last seen', cell: ({ lastSeenAt }) => ago(lastSeenAt) },
]

const focus = ({ location }: Device): Record<string, string> =>
  location ? { lon: location.lon.toFixed(4), lat: location.lat.toFixed(4), z: '13' } : {}

function AddDialog({ onClose, onAdded }: { onClose: () => void; onAdded: () => void }) {
  const fields = useRef<HTMLDivElement>(null)
  const value = (name: string) => fields.current?.querySelector<HTMLInputElement>(`[name=${name}]`)?.value.trim() ?? ''
  return (
    <Dialog
      title="Add a device"
      submitLabel="Add"
      onClose={onClose}
      onSubmit={async () => {
        const tags = value('tags')
          .split(',')
          .map((tag) => tag.trim())
          .filter(Boolean)
        await call('/devices', {
          method: 'POST',
          body: {
            organizationId: homeOrganizationId.value,
            serial: value('serial'),
            name: value('name'),
            model: value('model'),
            tags,
          },
        })
        onAdded()
      }}
    >
      <div ref={fields} style={{ display: 'grid', gap: 'var(--space-3)' }}>
        <OrganizationPicker allowAll={false} />
        <label class="field">
          <span>Serial (cannot be changed later)</span>
          <input class="input" name="serial" required maxLength={64} />
        </label>
        <label class="field">
          <span>Name</span>
          <input class="input" name="name" required maxLength={200} />
        </label>
        <label class="field">
          <span>Model</span>
          <input class="input" name="model" required maxLength={200} />
        </label>
        <label class="field">
          <span>Tags, separated by commas</span>
          <input class="input" name="tags" placeholder="vehicle, berlin" />
        </label>
      </div>
    </Dialog>
  )
}
