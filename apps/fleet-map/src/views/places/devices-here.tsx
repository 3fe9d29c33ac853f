import { useEffect } from 'preact/hooks'
import type { Device } from '../../api/schemas.ts'
import { ago } from '../../components/format.ts'
import { StatusLabel } from '../../components/labels.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { linkTo } from '../../state/url.ts'

const columns: Column<Device>[] = [
  { title: 'Device', cell: ({ id, name }) => <a href={linkTo('device', { id })}>{name}</a> },
  { title: 'Status', cell: ({ status }) => <StatusLabel status={status} /> },
  { title: 'Position', cell: ({ location }) => ago(location?.ts ?? null) },
]

const everyMs = 10_000

/** Lists the devices whose last position is inside a place. */
export function DevicesHere({ org, placeId }: { org: string; placeId: string }) {
  const list = usePages('/devices', { orgId: org, placeId })
  useEffect(() => {
    const timer = setInterval(list.reload, everyMs)
    return () => clearInterval(timer)
  }, [])
  return (
    <section class="stack" aria-label="Devices in this place">
      <div class="toolbar">
        <h2 class="grow">Devices here</h2>
        <button type="button" class="button small" onClick={list.reload}>
          Refresh
        </button>
        <a class="button small" href={linkTo('devices', { place: placeId })}>
          Open as list
        </a>
      </div>
      {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
      {list.loading && list.items.length === 0 ? <Loading rows={3} /> : null}
      {!list.loading && !list.error && list.items.length === 0 ? (
        <p class="label">No device reported its last position inside this place.</p>
      ) : null}
      {list.items.length > 0 ? (
        <Table caption="Devices in this place" columns={columns} rows={list.items} keyOf={({ id }) => id} />
      ) : null}
      <MoreButton more={list.more} />
    </section>
  )
}
