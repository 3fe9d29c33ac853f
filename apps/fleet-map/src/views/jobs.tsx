import { all, call } from '../api/client.ts'
import type { Batch, Group, Page } from '../api/types.ts'
import { ago, count } from '../components/format.ts'
import { batchLabel, kindLabel } from '../components/labels.tsx'
import { useResource } from '../components/resource.ts'
import { Empty, Failure, Loading } from '../components/states.tsx'
import { type Column, Table } from '../components/table.tsx'
import { homeOrganizationId } from '../state/session.ts'
import { linkTo, place } from '../state/url.ts'
import { BatchDetail } from './batch-detail.tsx'
import { ProgressBar } from './batch-progress.tsx'
import { OrganizationPicker, WithoutOrganization } from './shell.tsx'

/** Lists job batches, or shows the selected batch. */
export function JobsView() {
  const org = homeOrganizationId.value
  const chosen = place.value.params.batch
  if (!org) return <WithoutOrganization />
  return (
    <div class="page">
      <div class="page-inner">{chosen ? <BatchDetail org={org} id={chosen} /> : <BatchList org={org} />}</div>
    </div>
  )
}

function BatchList({ org }: { org: string }) {
  const list = useResource(
    `batches ${org}`,
    (signal) => call<Page<Batch>>(`/orgs/${org}/job-batches`, { signal, query: { limit: 50 } }),
    { everyMs: 3_000 },
  )
  const groups = useResource(`groups ${org}`, () => all<Group>(`/orgs/${org}/groups`))
  const targetOf = ({ target, total }: Batch) =>
    groups.value?.find(({ id }) => id === target.groupId)?.name ??
    (target.groupId ? 'Deleted group' : total === 1 ? 'One device' : 'Selected devices')
  const items = list.value?.items ?? []
  const columns: Column<Batch>[] = [
    {
      title: 'Job',
      cell: ({ id, kind }) => <a href={linkTo('jobs', { batch: id })}>{kindLabel[kind] ?? kind}</a>,
    },
    { title: 'State', cell: ({ status }) => batchLabel[status], optional: true },
    { title: 'Target', cell: targetOf },
    { title: 'Progress', cell: (batch) => <ProgressBar batch={batch} /> },
    { title: 'Devices', cell: ({ total }) => count(total), kind: 'number', optional: true },
    { title: 'Created', cell: ({ createdAt }) => ago(createdAt), optional: true },
  ]
  return (
    <>
      <div class="page-head">
        <h1>Jobs</h1>
        <OrganizationPicker allowAll={false} />
      </div>
      {list.error && !list.value ? <Failure error={list.error} retry={list.reload} /> : null}
      {!list.value && !list.error ? <Loading /> : null}
      {list.value && items.length === 0 ? (
        <Empty title="No jobs yet">
          <p>Reboot a group or apply a profile to create jobs. Each device gets its own job.</p>
        </Empty>
      ) : null}
      {items.length > 0 ? <Table caption="Job batches" columns={columns} rows={items} keyOf={({ id }) => id} /> : null}
    </>
  )
}
