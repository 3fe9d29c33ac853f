import { useState } from 'preact/hooks'
import { get } from '../../api/client.ts'
import type { Job } from '../../api/schemas.ts'
import { actorText } from '../../components/actor.ts'
import { moment } from '../../components/format.ts'
import { deliveryText, heldText } from '../../components/held-text.ts'
import { jobLook, kindLabel } from '../../components/label-text.ts'
import { ForScope } from '../../components/needs-scope.tsx'
import { useResource } from '../../components/resource.ts'
import { Loading } from '../../components/states.tsx'
import { Table } from '../../components/table.tsx'
import { useTitle } from '../../components/title.ts'
import { useDeviceNames } from '../../state/device-names.ts'
import { isObject } from '../../state/profile-settings.ts'
import { linkTo } from '../../state/url.ts'
import { ConfirmJob, type JobVerb } from './batch-dialogs.tsx'
import { firmwareWords, namedValues, profileIn } from './job-words.ts'
import css from './jobs.module.css'
import { Missing } from './missing.tsx'

/** Shows one job: its device, result and history. */
export function JobDetail({ org, id }: { org: string; id: string }) {
  const [dialog, setDialog] = useState<JobVerb | null>(null)
  const job = useResource(`job ${id}`, (signal) => get(`/orgs/${org}/jobs/${id}`, { signal }), {
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
          <ForScope org={org} scope="job:cancel">
            <button type="button" class="button danger" onClick={() => setDialog('cancel')}>
              Cancel job
            </button>
          </ForScope>
        ) : value.status === 'succeeded' ? null : (
          <ForScope org={org} scope="job:create">
            <button type="button" class="button primary" onClick={() => setDialog('retry')}>
              Retry
            </button>
          </ForScope>
        )}
      </div>
      <JobFacts org={org} job={value} device={device} />
      <Table
        caption="History of this job"
        columns={[
          { title: 'State', cell: ({ status }) => jobLook[status].label },
          { title: 'Time', cell: ({ at }) => moment(at) },
          {
            title: 'By',
            cell: ({ by }) => (by.startsWith('key:') ? 'An API key' : actorText(by, null)),
            optional: true,
          },
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

function JobFacts({ org, job, device }: { org: string; job: Job; device: string }) {
  const isOpen = job.finishedAt === null
  return (
    <dl class={`card ${css.jobFacts}`}>
      <dt>Device</dt>
      <dd>
        <a href={linkTo('map', { device: job.deviceId })}>{device}</a>
      </dd>
      <JobContent org={org} parameters={job.parameters} />
      <dt>State</dt>
      <dd>
        {jobLook[job.status].label}
        {job.heldBecause ? `, waits for a good moment: ${heldText[job.heldBecause]}` : ''}
        {job.cancelRequested && isOpen ? ', cancellation requested' : ''}
        {job.progress !== null && isOpen ? `, ${job.progress} %` : ''}
      </dd>
      {job.error ? (
        <>
          <dt>Reason</dt>
          <dd>{job.error.detail ?? job.error.code}</dd>
        </>
      ) : null}
      {job.delivery ? (
        <>
          <dt>Good moment</dt>
          <dd>{deliveryText(job.delivery)}</dd>
        </>
      ) : null}
      <dt>Attempt</dt>
      <dd>
        {job.attempt} of {job.maxAttempts}
      </dd>
      {isOpen ? (
        <>
          <dt>Expires</dt>
          <dd>{moment(job.expiresAt)}</dd>
        </>
      ) : null}
      {job.result === null ? null : (
        <>
          <dt>Result</dt>
          <dd>{isObject(job.result) ? <Values values={job.result} /> : String(job.result)}</dd>
        </>
      )}
    </dl>
  )
}

/** What a job carries: a version of a profile, a firmware image, or other parameters. */
function JobContent({ org, parameters }: { org: string; parameters: Job['parameters'] }) {
  const profile = profileIn(parameters)
  const firmware = firmwareWords(parameters)
  if (Object.keys(parameters).length === 0) return null
  return (
    <>
      <dt>{profile ? 'Profile' : firmware ? 'Content' : 'Parameters'}</dt>
      <dd>
        {profile ? (
          <ProfileLink org={org} {...profile} />
        ) : firmware ? (
          <>
            {firmware.name} <span class="hint">{firmware.text}</span>
            <Raw value={parameters} />
          </>
        ) : (
          <Values values={parameters} />
        )}
      </dd>
    </>
  )
}

/** A profile by its name. One that was deleted since has none. */
function ProfileLink({ org, id, version }: { org: string; id: string; version: number }) {
  const profile = useResource(`profile ${id}`, (signal) => get(`/orgs/${org}/configs/${id}`, { signal }))
  if (!profile.value) return <>Version {version}</>
  return (
    <a href={linkTo('profiles', { profile: id, version: String(version) })}>
      {profile.value.name}, version {version}
    </a>
  )
}

const Values = ({ values }: { values: object }) => (
  <>
    <ul class={css.values}>
      {namedValues(values).map(({ name, text }) => (
        <li key={name}>
          <span class="label">{name}</span> {text}
        </li>
      ))}
    </ul>
    <Raw value={values} />
  </>
)

/** What the API returns, for those who compare. */
const Raw = ({ value }: { value: object }) => (
  <details>
    <summary class="label">Raw values</summary>
    <pre class="code-block">{JSON.stringify(value, null, 2)}</pre>
  </details>
)
