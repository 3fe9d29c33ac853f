import { useEffect, useState } from 'preact/hooks'
import { ApiError, call } from '../api/client.ts'
import type { Batch, Job } from '../api/types.ts'
import { ago, count, moment } from '../components/format.ts'
import { batchLabel, jobLook, jobStatuses, kindLabel } from '../components/labels.tsx'
import { FailureNotice } from '../components/notice.tsx'
import { MoreButton, usePages } from '../components/pages.tsx'
import { useResource } from '../components/resource.ts'
import { Failure, Loading } from '../components/states.tsx'
import { type Column, Table } from '../components/table.tsx'
import { useDeviceNames } from '../state/device-names.ts'
import { linkTo, place, setParams } from '../state/url.ts'
import { ProgressBar } from './batch-progress.tsx'

const isOpen = (batch: Batch) => !['finished', 'cancelled'].includes(batch.status)

/** Shows a batch and its jobs, updated every 2 seconds. */
export function BatchDetail({ org, id }: { org: string; id: string }) {
  const [error, setError] = useState<ApiError>()
  const batch = useResource(`batch ${id}`, (signal) => call<Batch>(`/orgs/${org}/job-batches/${id}`, { signal }), {
    everyMs: 2_000,
  })
  const nameOf = useDeviceNames(org)
  const jobs = usePages<Job>(`/orgs/${org}/jobs`, { batchId: id, status: place.value.params.status })
  const act = async (verb: 'cancel' | 'pause' | 'resume' | 'retry') => {
    setError(undefined)
    try {
      await call(`/orgs/${org}/job-batches/${id}/${verb}`, { method: 'POST' })
      batch.reload()
      jobs.reload()
    } catch (failure) {
      if (failure instanceof ApiError) setError(failure)
    }
  }
  const actOn = async (job: Job, verb: 'cancel' | 'retry') => {
    setError(undefined)
    try {
      await call(`/orgs/${org}/jobs/${job.id}/${verb}`, { method: 'POST' })
      jobs.reload()
    } catch (failure) {
      if (failure instanceof ApiError) setError(failure)
    }
  }
  const value = batch.value
  // Read the jobs again only when the counts change.
  const counts = JSON.stringify(value?.counts)
  useEffect(() => jobs.reload(), [counts])
  if (!value) return batch.error ? <Failure error={batch.error} retry={batch.reload} /> : <Loading />
  const columns: Column<Job>[] = [
    { title: 'Device', cell: ({ deviceId }) => <a href={linkTo('map', { device: deviceId })}>{nameOf(deviceId)}</a> },
    {
      title: 'State',
      cell: (job) => (
        <span class="status">
          <span class="swatch" style={{ background: jobLook[job.status].color }} />
          {jobLook[job.status].label}
          {job.progress !== null && job.finishedAt === null ? ` ${job.progress} %` : ''}
        </span>
      ),
    },
    { title: 'Reason', cell: ({ error: reason }) => reason?.detail ?? '', optional: true },
    {
      title: 'Attempt',
      cell: ({ attempt, maxAttempts }) => `${attempt} of ${maxAttempts}`,
      kind: 'number',
      optional: true,
    },
    { title: 'Updated', cell: ({ updatedAt }) => ago(updatedAt), optional: true },
    { title: 'Actions', cell: (job) => <JobButton job={job} actOn={actOn} />, kind: 'actions' },
  ]
  const skipped = value.skipped?.length ?? 0
  const unsuccessful = value.total - value.counts.succeeded
  return (
    <>
      <div class="page-head">
        <h1>
          <a href={linkTo('jobs')}>Jobs</a> / {kindLabel[value.kind] ?? value.kind}
        </h1>
        {value.status === 'running' || value.status === 'scheduled' ? (
          <button type="button" class="button" onClick={() => act('pause')}>
            Pause
          </button>
        ) : null}
        {value.status === 'paused' ? (
          <button type="button" class="button" onClick={() => act('resume')}>
            Resume
          </button>
        ) : null}
        {isOpen(value) ? (
          <button type="button" class="button danger" onClick={() => act('cancel')}>
            Cancel
          </button>
        ) : null}
        {!isOpen(value) && unsuccessful > 0 ? (
          <button type="button" class="button primary" onClick={() => act('retry')}>
            Retry {count(unsuccessful)}
          </button>
        ) : null}
      </div>
      <FailureNotice reason={error?.message} />
      <div
        class="card"
        style={{ padding: 'var(--space-4)', display: 'grid', gap: 'var(--space-3)' }}
        aria-live="polite"
      >
        <strong>
          {count(value.counts.succeeded)} of {count(value.total)} succeeded · {batchLabel[value.status].toLowerCase()}
        </strong>
        <ProgressBar batch={value} />
        <span class="label">
          Created {moment(value.createdAt)}
          {value.finishedAt ? `, finished ${moment(value.finishedAt)}` : ''}
          {skipped > 0 ? `, ${count(skipped)} devices skipped` : ''}
        </span>
      </div>
      <div class="toolbar">
        <label class="label" for="job-state">
          Show
        </label>
        <select
          id="job-state"
          class="input"
          value={place.value.params.status ?? ''}
          onChange={(event) => setParams({ status: event.currentTarget.value || null })}
        >
          <option value="">All jobs</option>
          {jobStatuses.map((status) => (
            <option key={status} value={status}>
              {jobLook[status].label} ({count(value.counts[status])})
            </option>
          ))}
        </select>
      </div>
      {jobs.error ? <Failure error={jobs.error} retry={jobs.reload} /> : null}
      <Table caption="Jobs of this batch" columns={columns} rows={jobs.items} keyOf={({ id: jobId }) => jobId} />
      <MoreButton more={jobs.more} />
    </>
  )
}

type JobButtonProps = { job: Job; actOn: (job: Job, verb: 'cancel' | 'retry') => void }

/** Cancels an unfinished job, or retries a job that finished without success. */
function JobButton({ job, actOn }: JobButtonProps) {
  const verb = job.finishedAt === null ? 'cancel' : job.status === 'succeeded' ? undefined : 'retry'
  if (!verb) return null
  return (
    <button type="button" class="button quiet small" onClick={() => actOn(job, verb)}>
      {verb === 'cancel' ? 'Cancel' : 'Retry'}
    </button>
  )
}
