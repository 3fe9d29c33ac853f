import type { ComponentChildren } from 'preact'
import type { ListPages } from '../../components/pages.tsx'
import { MoreButton } from '../../components/pages.tsx'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'

/** The heading of a section of the settings, with one sentence about it and its actions. */
export const SectionHead = ({
  title,
  about,
  children,
}: {
  title: string
  about: ComponentChildren
  children?: ComponentChildren
}) => (
  <div class="page-head">
    <div class="section-title">
      <h1>{title}</h1>
      <p class="hint">{about}</p>
    </div>
    {children}
  </div>
)

type ListProps<Row> = {
  list: ListPages<Row>
  caption: string
  columns: readonly Column<Row>[]
  keyOf: (row: Row) => string
  empty: string
  children?: ComponentChildren
}

/** A list with its loading, empty and failed states. `children` explain what to do about an empty list. */
export const List = <Row,>({ list, caption, columns, keyOf, empty, children }: ListProps<Row>) => (
  <>
    {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
    {list.loading && list.items.length === 0 ? <Loading /> : null}
    {!list.loading && !list.error && list.items.length === 0 ? <Empty title={empty}>{children}</Empty> : null}
    {list.items.length > 0 ? <Table caption={caption} columns={columns} rows={list.items} keyOf={keyOf} /> : null}
    <MoreButton more={list.more} />
  </>
)
