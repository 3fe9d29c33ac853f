import { useEffect, useState } from 'preact/hooks'
import { get } from '../../api/client.ts'
import type { Job, JobBatch, JobStatus } from '../../api/schemas.ts'
import { type Option, withChosen } from '../../components/chosen-option.ts'
import { ago, count, moment, plural } from '../../components/format.ts'
import { heldText } from '../../components/held-text.ts'
import { jobLook, jobStatuses, kindLabel } from '../../components/label-text.ts'
import { JobProgress } from '../../components/labels.tsx'
import { ForScope } from '../../components/needs-scope.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useTitle } from '../../components/title.ts'
import { useDeviceNames } from '../../state/device-names.ts'
import { holds } from '../../state/session.ts'
import { linkTo, place, setParams } from '../../state/url.ts'
import { type BatchVerb, ConfirmBatch, ConfirmJob, type JobVerb } from './batch-dialogs.tsx'
import { BatchFacts } from './batch-facts.tsx'
import { ProgressBar } from './batch-progress.tsx'
import { BatchStages } from './batch-stages.tsx'
import { batchState, heldWords } from './batch-words.ts'
import css from './jobs.module.css'
import { Missing } from './missing.tsx'

const isOpen = (batch: JobBatch) => !['finished', 'cancelled'].includes(batch.status)

/** Shows a batch and its jobs, updated every 2 seconds. */
export function BatchDetail({ org, id }: { org: string; id: string }) {
  const [dialog, setDialog] = useState<BatchVerb | { job: Job; verb: JobVerb } | null>(null)
  const batch = useResource(`batch ${id}`, (signal) => get(`/orgs/${org}/job-batches/${id}`, { signal }), {
    everyMs: 2_000,
  })
  const nameOf = useDeviceNames(org)
  const status = place.value.params.status as JobStatus | undefined
  const jobs = usePages(`/orgs/${org}/jobs`, { batchId: id, status })
  const value = batch.value
  useTitle(value ? (kindLabel[value.kind] ?? value.kind) : '')
  // Read the jobs again only when the counts change.
  const counts = JSON.stringify([value?.counts, value?.heldReasons])
  useEffect(() => jobs.reload(), [counts])
  if (!value) return batch.error ? <Missing error={batch.error} retry={batch.reload} /> : <Loading />
  const done = () => {
    setDialog(null)
    batch.reload()
    jobs.reload()
  }
  return (
    <>
      <BatchHead org={org} batch={value} onChoose={setDialog} />
      <div class="card panel" aria-live="polite">
        <strong>
          {count(value.counts.succeeded)} of {count(value.total)} succeeded · {batchState(value).toLowerCase()}
        </strong>
        <ProgressBar batch={value} />
        {value.held > 0 ? <span class="label">{heldWords(value)}</span> : null}
        <span class="label">
          Created {moment(value.createdAt)}
          {value.finishedAt ? `, finished ${moment(value.finishedAt)}` : ''}
        </span>
      </div>
      <BatchStages batch={value} />
      <BatchFacts org={org} batch={value} nameOf={nameOf} />
      <StatusFilter counts={value.counts} chosen={status} />
      {jobs.error ? <Failure error={jobs.error} retry={jobs.reload} /> : null}
      <Table
        caption="Jobs of this batch"
        columns={columnsOf(nameOf, setDialog)}
        rows={jobs.items}
        keyOf={({ id: jobId }) => jobId}
      />
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

type BatchHeadProps = { org: string; batch: JobBatch; onChoose: (verb: BatchVerb) => void }

function BatchHead({ org, batch, onChoose }: BatchHeadProps) {
  const unsuccessful = batch.total - batch.counts.succeeded
  const [mayStart, mayCancel] = [holds(org, 'job:create'), holds(org, 'job:cancel')]
  return (
    <div class="page-head">
      <h1>
        <a href={linkTo('jobs')}>Jobs</a> / {kindLabel[batch.kind] ?? batch.kind}
      </h1>
      {mayCancel && (batch.status === 'running' || batch.status === 'scheduled') ? (
        <button type="button" class="button" onClick={() => onChoose('pause')}>
          Pause
        </button>
      ) : null}
      {mayStart && batch.status === 'paused' ? (
        <button type="button" class="button primary" onClick={() => onChoose('resume')}>
          {batch.pauseReason === 'stage' ? 'Start the next stage' : 'Resume'}
        </button>
      ) : null}
      {mayCancel && isOpen(batch) ? (
        <button type="button" class="button danger" onClick={() => onChoose('cancel')}>
          Cancel
        </button>
      ) : null}
      {mayStart && !isOpen(batch) && unsuccessful > 0 ? (
        <button type="button" class="button primary" onClick={() => onChoose('retry')}>
          Retry {count(unsuccessful)}
        </button>
      ) : null}
    </div>
  )
}

const StatusFilter = ({ counts, chosen = '' }: { counts: JobBatch['counts']; chosen: string | undefined }) => (
  <div class="toolbar">
    <label class="label" for="job-state">
      Show
    </label>
    <select
      id="job-state"
      class="input"
      value={chosen}
      onChange={(event) => setParams({ status: event.currentTarget.value || null })}
    >
      <option value="">All jobs</option>
      {withChosen(
        jobStatuses.map((status): Option => [status, `${jobLook[status].label} (${count(counts[status])})`]),
        chosen,
      ).map(([status, text]) => (
        <option key={status} value={status}>
          {text}
        </option>
      ))}
    </select>
  </div>
)

const columnsOf = (
  nameOf: (deviceId: string) => string,
  onChoose: (chosen: { job: Job; verb: JobVerb }) => void,
): Column<Job>[] => [
  { title: 'Device', cell: ({ deviceId }) => <a href={linkTo('map', { device: deviceId })}>{nameOf(deviceId)}</a> },
  {
    title: 'State',
    cell: (job) => (
      <>
        <JobProgress job={job} />
        <JobReason job={job} />
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
    cell: (job) => <JobButton job={job} onChoose={(verb) => onChoose({ job, verb })} />,
    kind: 'actions',
  },
]

/** Why a job ended without success, or why its router may not take it yet. */
function JobReason({ job: { error, heldBecause } }: { job: Job }) {
  const reason = heldBecause ? `Waits: ${heldText[heldBecause]}` : error?.detail
  return reason ? <div class={`hint ${css.jobReason}`}>{reason}</div> : null
}

/** A result that is a text. One of several values opens on the page of the job. */
function Result({ value }: { value: unknown }) {
  if (value === null || value === undefined) return null
  if (typeof value === 'object') return <span class="hint">{plural(Object.keys(value).length, 'value')}</span>
  return (
    <span class={css.jobResult} title={String(value)}>
      {String(value)}
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
        <ForScope org={job.organizationId} scope={verb === 'cancel' ? 'job:cancel' : 'job:create'}>
          <button type="button" class="button quiet small" onClick={() => onChoose(verb)}>
            {verb === 'cancel' ? 'Cancel' : 'Retry'}
          </button>
        </ForScope>
      ) : null}
    </span>
  )
}
