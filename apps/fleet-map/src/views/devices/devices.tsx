import { useState } from 'preact/hooks'
import { ApiError } from '../../api/client.ts'
import type { Operation, QueryOf } from '../../api/operations.ts'
import type { DeviceCounts, ListedDevice } from '../../api/schemas.ts'
import { downloadFile } from '../../components/download.ts'
import { count } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { deviceStatuses, statusLabel } from '../../components/label-text.ts'
import { FailureNotice } from '../../components/notice.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { useResource } from '../../components/resource.ts'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import {
  caller,
  holds,
  holdsSomewhere,
  homeOrganizationId,
  organizationId,
  organizations,
} from '../../state/session.ts'
import { readCounts } from '../../state/tags.ts'
import { goTo, linkTo, place, setParams } from '../../state/url.ts'
import { AddDialog } from './add-dialog.tsx'
import { type BulkSelection, selectionOfRows } from './bulk.ts'
import { BulkBar } from './bulk-bar.tsx'
import { columnsIn, partsOf } from './device-columns.tsx'
import { DeviceTable } from './device-table.tsx'
import css from './devices.module.css'
import { ImportDialog } from './import-dialog.tsx'
import { bulkFilterOf, filterInAddress, filtersInAddress, type ListFilter, noFilter } from './list-filter.ts'
import { ListFilters } from './list-filters.tsx'
import { InsteadOfMap, MapLink } from './map-link.tsx'

type ListSort = QueryOf<Operation<'get', '/devices'>>['sort']

/** Lists devices with search, filters, order and columns; adds, imports, exports and changes many devices. */
export function DevicesView() {
  const filter = filterInAddress()
  const { params } = place.value
  const columns = columnsIn(params.cols)
  const query = { orgId: organizationId.value, ...filter, sort: params.sort as ListSort, include: partsOf(columns) }
  const list = usePages(caller.value ? '/devices' : null, query)
  const totals = useTotals(filter)
  const [dialog, setDialog] = useState<'add' | 'import' | null>(null)
  const [error, setError] = useState<ApiError>()
  const choice = useChoice(list.items, filter, totals?.total)
  const isFiltered = filtersInAddress().length > 0
  const download = async (more: { deviceId?: string[] } = {}) => {
    setError(undefined)
    try {
      await downloadFile('/devices/export', { ...query, ...more }, 'devices')
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError(0, 'error', String(failure)))
    }
  }
  return (
    <div class="page">
      <div class="page-inner">
        <div class="page-head">
          <h1>Devices</h1>
          <MapLink />
          <button type="button" class="button" onClick={() => download()}>
            <Icon name="download" size={16} /> Export
          </button>
          {mayCreate() ? (
            <>
              <button type="button" class="button" onClick={() => setDialog('import')}>
                <Icon name="upload" size={16} /> Import CSV
              </button>
              <button type="button" class="button primary" onClick={() => setDialog('add')}>
                <Icon name="plus" size={16} /> Add device
              </button>
            </>
          ) : null}
        </div>
        <InsteadOfMap />
        <ListFilters />
        {totals ? <Totals counts={totals} isFiltered={isFiltered} /> : null}
        <FailureNotice reason={error?.message} />
        <BulkBar
          selection={choice.selection}
          matching={choice.canSelectAll ? totals?.total : undefined}
          shown={list.items.length}
          onAll={choice.chooseAll}
          onClear={choice.clear}
          onExport={() => download(choice.selection.isAll ? {} : { deviceId: choice.ids })}
          onChanged={list.reload}
        />
        {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
        {list.loading && list.items.length === 0 ? <Loading /> : null}
        {!list.loading && !list.error && list.items.length === 0 ? <NoDevices isFiltered={isFiltered} /> : null}
        {list.items.length > 0 ? (
          <DeviceTable
            columns={columns}
            devices={list.items}
            sort={params.sort ?? ''}
            isChosen={choice.isChosen}
            onChoose={choice.choose}
          />
        ) : null}
        <MoreButton more={list.more} />
      </div>
      {dialog === 'add' ? (
        <AddDialog onClose={() => setDialog(null)} onAdded={({ id }) => goTo('device', { id })} />
      ) : null}
      {dialog === 'import' ? <ImportDialog onClose={() => setDialog(null)} onImported={list.reload} /> : null}
    </div>
  )
}

/** Whether the caller may add devices to the chosen organization, or to one of several. */
const mayCreate = (): boolean =>
  organizationId.value ? holds(organizationId.value, 'device:create') : holdsSomewhere('device:create')

const NoDevices = ({ isFiltered }: { isFiltered: boolean }) => (
  <Empty title={isFiltered ? 'No matching devices' : 'No devices yet'}>
    <p>
      {isFiltered
        ? 'Change the search text or the filters.'
        : mayCreate()
          ? 'Add a device, import a CSV file, or enroll routers with an enrollment key.'
          : 'Devices appear here when a person with the scope device:create adds them.'}
    </p>
    {isFiltered ? (
      <button type="button" class="button" onClick={() => setParams(noFilter)}>
        Clear all filters
      </button>
    ) : mayCreate() ? (
      <a class="button" href={linkTo('connect')}>
        Connect a router
      </a>
    ) : null}
  </Empty>
)

/** The numbers of matching devices, in total and by status. */
const Totals = ({ counts, isFiltered }: { counts: DeviceCounts; isFiltered: boolean }) => (
  <p class={css.totals} role="status">
    <strong>
      {count(counts.total)} {isFiltered ? 'matching ' : ''}
      {counts.total === 1 ? 'device' : 'devices'}
    </strong>
    {deviceStatuses
      .filter((status) => (counts.status[status] ?? 0) > 0)
      .map((status) => ` · ${count(counts.status[status] ?? 0)} ${statusLabel(status).toLowerCase()}`)}
  </p>
)

const countsEveryMs = 15_000

/** Follows the numbers of matching devices; undefined while they are unknown or several organizations are shown. */
function useTotals(query: ListFilter): DeviceCounts | undefined {
  const isOne = organizationId.value !== '' || organizations.value?.length === 1
  const org = isOne ? homeOrganizationId.value : ''
  return useResource(
    JSON.stringify(['totals', org, query]),
    async (signal) => (org ? readCounts(org, query, signal) : undefined),
    { everyMs: countsEveryMs },
  ).value
}

const noIds: ReadonlySet<string> = new Set()

/** The chosen rows, or all matches. A change of the filter clears the choice. */
function useChoice(devices: readonly ListedDevice[], filter: ListFilter, total: number | undefined) {
  const [choice, setChoice] = useState<{ key: string; chosen: ReadonlySet<string> | 'all' }>({ key: '', chosen: noIds })
  const org = organizationId.value || (organizations.value?.length === 1 ? homeOrganizationId.value : '')
  const key = JSON.stringify([org, filter])
  const chosen = choice.key === key ? choice.chosen : noIds
  const setChosen = (next: ReadonlySet<string> | 'all') => setChoice({ key, chosen: next })
  const rows = chosen === 'all' ? [] : devices.filter(({ id }) => chosen.has(id))
  const selection: BulkSelection =
    chosen === 'all'
      ? {
          size: total ?? devices.length,
          isAll: true,
          organizationId: org || undefined,
          names: [],
          body: { filter: bulkFilterOf(filter) },
        }
      : selectionOfRows(rows)
  return {
    selection,
    ids: rows.map(({ id }) => id),
    canSelectAll: org !== '',
    isChosen: (id: string) => chosen === 'all' || chosen.has(id),
    choose: (ids: readonly string[], isChosen: boolean) => {
      const next = new Set(chosen === 'all' ? devices.map(({ id }) => id) : chosen)
      for (const id of ids)
        if (isChosen) next.add(id)
        else next.delete(id)
      setChosen(next)
    },
    chooseAll: () => setChosen('all'),
    clear: () => setChosen(noIds),
  }
}
