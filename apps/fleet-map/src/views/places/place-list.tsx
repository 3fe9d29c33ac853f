import type { Place } from '../../api/schemas.ts'
import { ago } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { ForScope } from '../../components/needs-scope.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { Chips, type Column, Table } from '../../components/table.tsx'
import { linkTo } from '../../state/url.ts'
import { areaSummary } from './area-text.ts'

const columns: Column<Place>[] = [
  { title: 'Name', cell: ({ id, name }) => <a href={linkTo('alerts', { tab: 'places', place: id })}>{name}</a> },
  { title: 'Area', cell: ({ area }) => areaSummary(area) },
  { title: 'Tags', cell: ({ tags }) => <Chips words={tags} />, optional: true },
  {
    title: 'Devices',
    cell: ({ id }) => <a href={linkTo('devices', { place: id })}>Who is here</a>,
    optional: true,
  },
  { title: 'Updated', cell: ({ updatedAt }) => ago(updatedAt), optional: true },
]

/** Lists the organization's places. */
export function PlaceList({ org }: { org: string }) {
  const list = usePages(`/orgs/${org}/places`, {})
  return (
    <>
      <div class="toolbar">
        <p class="label grow">
          A place is a named area, such as a depot or a port. Rules, lists and dwells use places.
        </p>
        <ForScope org={org} scope="place:write">
          <a class="button primary" href={linkTo('alerts', { tab: 'places', place: 'new' })}>
            <Icon name="plus" size={16} /> New place
          </a>
        </ForScope>
      </div>
      {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
      {list.loading && list.items.length === 0 ? <Loading /> : null}
      {!list.loading && !list.error && list.items.length === 0 ? (
        <Empty title="No places yet">
          <p>Draw an area on the map to see which devices are in it, and to be told when they enter or leave.</p>
        </Empty>
      ) : null}
      {list.items.length > 0 ? (
        <Table caption="Places" columns={columns} rows={list.items} keyOf={({ id }) => id} />
      ) : null}
      <MoreButton more={list.more} />
    </>
  )
}
