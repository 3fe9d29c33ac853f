import { useState } from 'preact/hooks'
import { call } from '../../api/client.ts'
import type { JobWithHistory } from '../../api/types.ts'
import { moment } from '../../components/format.ts'
import { jobLook, kindLabel } from '../../components/labels.tsx'
import { useResource } from '../../components/resource.ts'
import { Loading } from '../../components/states.tsx'
import { Table } from '../../components/table.tsx'
import { useTitle } from '../../components/title.ts'
import { useDeviceNames } from '../../state/device-names.ts'
import { linkTo } from '../../state/url.ts'
import { ConfirmJob, type JobVerb } from './batch-dialogs.tsx'
import { Missing } from './missing.tsx'

/** Shows one job: its device, result and history. */
export function JobDetail({ org, id }: { org: string; id: string }) {
  const [dialog, setDialog] = useState<JobVerb | null>(null)
  const job = useResource(`job ${id}`, (signal) => call<JobWithHistory>(`/orgs/${org}/jobs/${id}`, { signal }), {
    everyMs: 2_000,
  })
  const nameOf = useDeviceNames(org)
  const value = job.value
  useTitle(value ? `${kindLabel[value.kind] ?? value.kind}: ${nameOf(value.deviceId)}` : '')
  if (!value) return job.error ? <Missing error={job.error} retry={job.reload} /> : <Loading />
  const kind = kindLabel[value.kind] ?? value.kind
  const device = nameOf(value.deviceId)
  const isOpen = value.finishedAt === null
  return (
    <>
      <div class="page-head">
        <h1>
          <a href={linkTo('jobs')}>Jobs</a> / {kind}: {device}
        </h1>
        {isOpen ? (
          <button type="button" class="button danger" onClick={() => setDialog('cancel')}>
            Cancel job
          </button>
        ) : value.status === 'succeeded' ? null : (
          <button type="button" class="button primary" onClick={() => setDialog('retry')}>
            Retry
          </button>
        )}
      </div>
      <dl class="card job-facts">
        <dt>Device</dt>
        <dd>
          <a href={linkTo('map', { device: value.deviceId })}>{device}</a>
        </dd>
        <dt>State</dt>
        <dd>
          {jobLook[value.status].label}
          {value.cancelRequested && isOpen ? ', cancellation requested' : ''}
          {value.progress !== null && isOpen ? `, ${value.progress} %` : ''}
        </dd>
        {value.error ? (
          <>
            <dt>Reason</dt>
            <dd>{value.error.detail ?? value.error.code}</dd>
          </>
        ) : null}
        <dt>Attempt</dt>
        <dd>
          {value.attempt} of {value.maxAttempts}
        </dd>
        {isOpen ? (
          <>
            <dt>Expires</dt>
            <dd>{moment(value.expiresAt)}</dd>
          </>
        ) : null}
        {Object.keys(value.parameters).length > 0 ? (
          <>
            <dt>Parameters</dt>
            <dd>
              <pre class="code-block">{JSON.stringify(value.parameters, null, 2)}</pre>
            </dd>
          </>
        ) : null}
        {value.result === null ? null : (
          <>
            <dt>Result</dt>
            <dd>
              <pre class="code-block">
                {typeof value.result === 'string' ? value.result : JSON.stringify(value.result, null, 2)}
              </pre>
            </dd>
          </>
        )}
      </dl>
      <Table
        caption="History of this job"
        columns={[
          { title: 'State', cell: ({ status }) => jobLook[status].label },
          { title: 'Time', cell: ({ at }) => moment(at) },
          { title: 'By', cell: ({ by }) => by.replace(/^device:.*/, 'The device'), optional: true },
        ]}
        rows={value.history}
        keyOf={({ at, status }) => at + status}
      />
      {dialog ? (
        <ConfirmJob
          org={org}
          job={value}
          device={device}
          verb={dialog}
          onClose={() => setDialog(null)}
          onDone={() => {
            setDialog(null)
            job.reload()
          }}
        />
      ) : null}
    </>
  )
}
