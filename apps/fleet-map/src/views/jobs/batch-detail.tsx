import { useEffect, useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import type { Batch, Job } from '../../api/types.ts'
import { ago, count, moment } from '../../components/format.ts'
import { jobLook, jobStatuses, kindLabel } from '../../components/labels.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useTitle } from '../../components/title.ts'
import { useDeviceNames } from '../../state/device-names.ts'
import { linkTo, place, setParams } from '../../state/url.ts'
import { type BatchVerb, ConfirmBatch, ConfirmJob, type JobVerb } from './batch-dialogs.tsx'
import { BatchFacts } from './batch-facts.tsx'
import { ProgressBar } from './batch-progress.tsx'
import { BatchStages } from './batch-stages.tsx'
import { batchState } from './batch-words.ts'
import { Missing } from './missing.tsx'

const isOpen = (batch: Batch) => !['finished', 'cancelled'].includes(batch.status)

/** Shows a batch and its jobs, updated every 2 seconds. */
export function BatchDetail({ org, id }: { org: string; id: string }) {
  const [dialog, setDialog] = useState<BatchVerb | { job: Job; verb: JobVerb } | null>(null)
  const batch = useResource(`batch ${id}`, (signal) => call<Batch>(`/orgs/${org}/job-batches/${id}`, { signal }), {
    everyMs: 2_000,
  })
  const nameOf = useDeviceNames(org)
  const jobs = usePages<Job>(`/orgs/${org}/jobs`, { batchId: id, status: place.value.params.status })
  const value = batch.value
  useTitle(value ? (kindLabel[value.kind] ?? value.kind) : '')
  // Read the jobs again only when the counts change.
  const counts = JSON.stringify(value?.counts)
  useEffect(() => jobs.reload(), [counts])
  if (!value) return batch.error ? <Missing error={batch.error} retry={batch.reload} /> : <Loading />
  const done = () => {
    setDialog(null)
    batch.reload()
    jobs.reload()
  }
  const columns: Column<Job>[] = [
    { title: 'Device', cell: ({ deviceId }) => <a href={linkTo('map', { device: deviceId })}>{nameOf(deviceId)}</a> },
    {
      title: 'State',
      cell: (job) => (
        <>
          <span class="status">
            <span class="swatch" style={{ background: jobLook[job.status].color }} />
            {jobLook[job.status].label}
            {job.progress !== null && job.finishedAt === null ? ` ${job.progress} %` : ''}
          </span>
          {job.error?.detail ? <div class="hint job-reason">{job.error.detail}</div> : null}
        </>
      ),
    },
    { title: 'Result', cell: ({ result }) => <Result value={result} />, optional: true },
    {
      title: 'Attempt',
      cell: ({ attempt, maxAttempts }) => `${attempt} of ${maxAttempts}`,
      kind: 'number',
      optional: true,
    },
    { title: 'Updated', cell: ({ updatedAt }) => ago(updatedAt), optional: true },
    {
      title: 'Actions',
      cell: (job) => <JobButton job={job} onChoose={(verb) => setDialog({ job, verb })} />,
      kind: 'actions',
    },
  ]
  const unsuccessful = value.total - value.counts.succeeded
  return (
    <>
      <div class="page-head">
        <h1>
          <a href={linkTo('jobs')}>Jobs</a> / {kindLabel[value.kind] ?? value.kind}
        </h1>
        {value.status === 'running' || value.status === 'scheduled' ? (
          <button type="button" class="button" onClick={() => setDialog('pause')}>
            Pause
          </button>
        ) : null}
        {value.status === 'paused' ? (
          <button type="button" class="button primary" onClick={() => setDialog('resume')}>
            {value.pauseReason === 'stage' ? 'Start the next stage' : 'Resume'}
          </button>
        ) : null}
        {isOpen(value) ? (
          <button type="button" class="button danger" onClick={() => setDialog('cancel')}>
            Cancel
          </button>
        ) : null}
        {!isOpen(value) && unsuccessful > 0 ? (
          <button type="button" class="button primary" onClick={() => setDialog('retry')}>
            Retry {count(unsuccessful)}
          </button>
        ) : null}
      </div>
      <div class="card panel" aria-live="polite">
        <strong>
          {count(value.counts.succeeded)} of {count(value.total)} succeeded · {batchState(value).toLowerCase()}
        </strong>
        <ProgressBar batch={value} />
        <span class="label">
          Created {moment(value.createdAt)}
          {value.finishedAt ? `, finished ${moment(value.finishedAt)}` : ''}
        </span>
      </div>
      <BatchStages batch={value} />
      <BatchFacts batch={value} nameOf={nameOf} />
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
      {typeof dialog === 'string' ? (
        <ConfirmBatch org={org} batch={value} verb={dialog} onClose={() => setDialog(null)} onDone={done} />
      ) : dialog ? (
        <ConfirmJob
          {...dialog}
          device={nameOf(dialog.job.deviceId)}
          org={org}
          onClose={() => setDialog(null)}
          onDone={done}
        />
      ) : null}
    </>
  )
}

/** A short result; long ones open on the page of the job. */
function Result({ value }: { value: unknown }) {
  if (value === null || value === undefined) return null
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return (
    <span class="job-result" title={text}>
      {text}
    </span>
  )
}

/** Opens a job, cancels an unfinished one, or retries one that finished without success. */
function JobButton({ job, onChoose }: { job: Job; onChoose: (verb: JobVerb) => void }) {
  const verb = job.finishedAt === null ? 'cancel' : job.status === 'succeeded' ? undefined : 'retry'
  return (
    <span class="actions">
      <a class="button quiet small" href={linkTo('jobs', { job: job.id })}>
        Details
      </a>
      {verb ? (
        <button type="button" class="button quiet small" onClick={() => onChoose(verb)}>
          {verb === 'cancel' ? 'Cancel' : 'Retry'}
        </button>
      ) : null}
    </span>
  )
}
