import { all, call } from '../api/client.ts'
import type { Batch, Group, Page } from '../api/types.ts'
import { ago, count } from '../components/format.ts'
import { batchLabel, kindLabel } from '../components/labels.tsx'
import { useResource } from '../components/resource.ts'
import { Empty, Failure, Loading } from '../components/states.tsx'
import { homeOrganizationId } from '../state/session.ts'
import { linkTo, place } from '../state/url.ts'
import { BatchDetail } from './batch-detail.tsx'
import { ProgressBar } from './batch-progress.tsx'
import { OrganizationPicker } from './shell.tsx'

/** Batches of jobs, live, and the one that is chosen with what happened to each device. */
export function JobsView() {
  const org = homeOrganizationId.value
  const chosen = place.value.params.batch
  if (!org) return <Loading />
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
    (target.groupId ? 'Deleted group' : total === 1 ? 'One device' : 'Chosen devices')
  const items = list.value?.items ?? []
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
          <p>
            Reboot a group or apply a profile: every device gets its own job, and this page shows what became of each.
          </p>
        </Empty>
      ) : null}
      {items.length > 0 ? (
        <div class="card table-frame">
          <table class="table">
            <caption class="visually-hidden">Job batches</caption>
            <thead>
              <tr>
                <th scope="col">Job</th>
                <th scope="col">State</th>
                <th scope="col">Target</th>
                <th scope="col">Progress</th>
                <th scope="col" class="number">
                  Devices
                </th>
                <th scope="col">Created</th>
              </tr>
            </thead>
            <tbody>
              {items.map((batch) => (
                <tr key={batch.id}>
                  <td>
                    <a href={linkTo('jobs', { batch: batch.id })}>{kindLabel[batch.kind] ?? batch.kind}</a>
                  </td>
                  <td>{batchLabel[batch.status]}</td>
                  <td>{targetOf(batch)}</td>
                  <td>
                    <ProgressBar batch={batch} />
                  </td>
                  <td class="number">{count(batch.total)}</td>
                  <td>{ago(batch.createdAt)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : null}
    </>
  )
}
