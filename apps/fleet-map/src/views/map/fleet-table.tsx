import { useMemo } from 'preact/hooks'
import type { Device, FleetDevice } from '../../api/schemas.ts'
import { ago, measured } from '../../components/format.ts'
import { QualityLabel, StatusLabel } from '../../components/labels.tsx'
import { NoMap } from '../../components/no-map.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { canDrawMap } from '../../state/map-support.ts'
import { homeOrganizationId } from '../../state/session.ts'
import { linkTo, place, setParams } from '../../state/url.ts'
import { useDevices, useLatest } from './fleet-data.ts'
import { isSearch, type MapPlace } from './map-place.ts'

const pageSize = 200
const refreshMs = 10_000

// Links to the map keep the filters. Without a map, its panels are on the page of the device.
const deviceLink = (deviceId: string) =>
  canDrawMap.value
    ? linkTo('map', { device: deviceId }, Object.keys(place.value.params).filter(isFilter))
    : linkTo('device', { id: deviceId })
const isFilter = (name: string) => !['as', 'lon', 'lat', 'z', 'cell', 't', 'modem', 'panel'].includes(name)

const columns: Column<FleetDevice>[] = [
  { title: 'Device', cell: ({ deviceId, name }) => <a href={deviceLink(deviceId)}>{name}</a> },
  { title: 'Status', cell: ({ status }) => <StatusLabel status={status} />, optional: true },
  {
    title: 'Signal',
    cell: ({ signal }) => <QualityLabel quality={signal?.quality ?? null} rat={signal?.rat ?? null} />,
  },
  { title: 'RSRP', cell: ({ signal }) => measured(signal?.rsrpDbm, 'dBm'), kind: 'number' },
  {
    title: 'Position',
    cell: ({ location }) => (location ? `${location.lat.toFixed(4)}, ${location.lon.toFixed(4)}` : 'Unknown'),
    optional: true,
  },
  { title: 'Last report', cell: ({ signal, location }) => ago(signal?.ts ?? location?.ts ?? null), optional: true },
]

/** The fleet as a table, for keyboard users, screen readers and browsers without a map. Reads it page by page. */
export function FleetTable({ here }: { here: MapPlace }) {
  const { rows, list } = useRows(here)
  const isLoading = list.loading || rows === undefined
  return (
    <div class="page">
      <div class="page-inner">
        <div class="page-head">
          <h1>Fleet</h1>
          {canDrawMap.value ? (
            <button type="button" class="button" onClick={() => setParams({ as: null })}>
              Show map
            </button>
          ) : null}
        </div>
        {canDrawMap.value ? null : (
          <NoMap>
            The table shows the same devices.
            {here.deviceId ? (
              <>
                {' '}
                <a href={linkTo('device', { id: here.deviceId })}>Open the selected device</a>
              </>
            ) : null}
          </NoMap>
        )}
        {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
        {isLoading && !rows?.length && !list.error ? <Loading /> : null}
        {!isLoading && rows.length === 0 && !list.error ? <Empty title="No matching devices" /> : null}
        {rows && rows.length > 0 ? (
          <Table
            caption="Devices with position and signal"
            columns={columns}
            rows={rows}
            keyOf={({ deviceId }) => deviceId}
          />
        ) : null}
        <MoreButton more={list.more} />
      </div>
    </div>
  )
}

/** Reads a page of the device list, and what the map knows of these devices. `rows` is undefined before the first page. */
function useRows(here: MapPlace) {
  const { filter, status, nameContains } = here
  const { org, group, rat, plmn } = filter
  const tags = filter.tag ? filter.tag.split(',') : []
  const isSearching = isSearch(nameContains)
  // A group's members cannot be searched: search all devices, and leave out those of other groups.
  const ofGroup = group !== '' && !isSearching
  const list = usePages(
    ofGroup ? `/orgs/${org || homeOrganizationId.value}/groups/${group}/devices` : '/devices',
    ofGroup
      ? { limit: pageSize }
      : { orgId: org, q: isSearching ? nameContains.trim() : '', status, tag: tags, limit: pageSize },
  )
  const ids = useMemo(() => list.items.map(({ id }) => id), [list.items])
  const located = useLatest(useDevices(here, ids, refreshMs).value)?.devices
  const isOnMapOnly = rat !== '' || plmn !== '' || (group !== '' && isSearching)
  const rows = useMemo(() => {
    if (!located) return undefined
    return list.items
      .filter((device) => (status === '' || device.status === status) && tags.every((tag) => device.tags.includes(tag)))
      .flatMap((device) => located.get(device.id) ?? (isOnMapOnly ? [] : withoutReports(device)))
  }, [list.items, located, status, filter.tag, isOnMapOnly])
  return { rows, list }
}

const withoutReports = ({ id, organizationId, name, status }: Device): FleetDevice => ({
  ...{ deviceId: id, organizationId, name, status },
  ...{ location: null, signal: null, dwell: null, modems: [] },
})
