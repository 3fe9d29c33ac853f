import { useEffect, useState } from 'preact/hooks'
import { ApiError, post } from '../../api/client.ts'
import type { Device, Job } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ago, moment } from '../../components/format.ts'
import { heldText } from '../../components/held-text.ts'
import { kindLabel } from '../../components/label-text.ts'
import { JobProgress } from '../../components/labels.tsx'
import { ForScope } from '../../components/needs-scope.tsx'
import { FailureNotice } from '../../components/notice.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { Failure } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { linkTo } from '../../state/url.ts'

/** While a router works on a job, and while jobs only wait. */
const [runningMs, waitingMs] = [3_000, 15_000]

/** The device's jobs, single ones too, with cancel and retry. `round` changes when a job may have been added. */
export function DeviceJobList({ device, round }: { device: Device; round: number }) {
  const list = usePages(`/devices/${device.id}/jobs`, { limit: 10 })
  const [cancelling, setCancelling] = useState<Job>()
  const [error, setError] = useState<ApiError>()
  const open = list.items.filter(({ finishedAt }) => finishedAt === null)
  const everyMs = open.length === 0 ? null : open.every(({ heldBecause }) => heldBecause) ? waitingMs : runningMs
  useEffect(() => list.reload(), [round])
  useEffect(() => {
    if (everyMs === null) return
    const timer = setInterval(list.reload, everyMs)
    return () => clearInterval(timer)
  }, [everyMs])
  const retry = async (job: Job) => {
    setError(undefined)
    try {
      await post(`/orgs/${job.organizationId}/jobs/${job.id}/retry`)
    } catch (failure) {
      if (failure instanceof ApiError) setError(failure)
    }
    list.reload()
  }
  return (
    <section class="stack" aria-label="Jobs">
      <h2>Jobs</h2>
      <FailureNotice reason={error?.message} />
      {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
      {!list.loading && !list.error && list.items.length === 0 ? <p class="label">This device has no jobs.</p> : null}
      {list.items.length > 0 ? (
        <Table
          caption="Jobs of this device"
          columns={columnsOf(setCancelling, retry)}
          rows={list.items}
          keyOf={({ id }) => id}
        />
      ) : null}
      <MoreButton more={list.more} />
      {cancelling ? (
        <Dialog
          title={`Cancel the job ${kindLabel[cancelling.kind] ?? cancelling.kind}?`}
          submitLabel="Cancel job"
          closeLabel="Keep job"
          danger
          onClose={() => setCancelling(undefined)}
          onSubmit={async () => {
            await post(`/orgs/${cancelling.organizationId}/jobs/${cancelling.id}/cancel`)
            setCancelling(undefined)
            list.reload()
          }}
        >
          <p>
            {cancelling.status === 'inProgress'
              ? 'The router has already taken the job. It decides whether it can still stop.'
              : 'The router has not taken the job yet.'}
          </p>
        </Dialog>
      ) : null}
    </section>
  )
}

const columnsOf = (onCancel: (job: Job) => void, onRetry: (job: Job) => void): Column<Job>[] => [
  {
    title: 'Job',
    cell: ({ kind, batchId, organizationId }) =>
      batchId === null ? (
        (kindLabel[kind] ?? kind)
      ) : (
        <a href={linkTo('jobs', { batch: batchId, org: organizationId })}>{kindLabel[kind] ?? kind}</a>
      ),
  },
  {
    title: 'State',
    cell: (job) => <JobProgress job={job} />,
  },
  {
    title: 'Reason',
    cell: ({ error: reason, heldBecause }) =>
      heldBecause ? `Waits: ${heldText[heldBecause]}` : (reason?.detail ?? ''),
    optional: true,
  },
  { title: 'Attempt', cell: ({ attempt, maxAttempts }) => `${attempt} of ${maxAttempts}`, optional: true },
  { title: 'Created', cell: ({ createdAt }) => <span title={moment(createdAt)}>{ago(createdAt)}</span> },
  {
    title: 'Actions',
    kind: 'actions',
    cell: (job) =>
      job.finishedAt === null ? (
        <ForScope org={job.organizationId} scope="job:cancel">
          <button type="button" class="button quiet small" onClick={() => onCancel(job)}>
            Cancel job
          </button>
        </ForScope>
      ) : job.status === 'succeeded' ? null : (
        <ForScope org={job.organizationId} scope="job:create">
          <button type="button" class="button quiet small" onClick={() => onRetry(job)}>
            Retry
          </button>
        </ForScope>
      ),
  },
]
