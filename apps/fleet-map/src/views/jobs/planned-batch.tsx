import type { ConfigApplicationPlan, JobBatchPlan } from '../../api/schemas.ts'
import { count, moment, plural } from '../../components/format.ts'
import type { Resource } from '../../components/resource.ts'
import { skipReason } from './batch-words.ts'
import { PlannedChanges } from './planned-changes.tsx'

const isLater = (stage: JobBatchPlan['stages'][number] | undefined): stage is JobBatchPlan['stages'][number] =>
  stage !== undefined && Date.parse(stage.earliestAt) > Date.now() + 60_000

/**
 * What a new batch will do, before it is created: its devices, the skipped ones, the stages with their earliest times, and the settings
 * that change.
 */
export function PlannedBatch({ plan: { value, error } }: { plan: Resource<JobBatchPlan | ConfigApplicationPlan> }) {
  if (error) return <p class="notice">{error.message}</p>
  if (!value) return <p class="label">Checking …</p>
  const { total, skipped, skippedReasons, stages } = value
  const missing = [...new Set(skipped.flatMap(({ variables }) => variables ?? []))].sort()
  return (
    <>
      <p>
        {total === 0 ? 'No device gets a job.' : `${plural(total, 'device')} ${total === 1 ? 'gets' : 'get'} a job.`}
        {Object.entries(skippedReasons).map(
          ([reason, devices]) =>
            ` ${count(devices)} skipped: ${skipReason(reason, reason === 'missing_variable' ? missing : [])}.`,
        )}
      </p>
      {stages.length > 1 ? (
        <ol aria-label="Planned stages">
          {stages.map(({ devices, earliestAt }, index) => (
            <li key={index}>
              {plural(devices, 'device')}, {index === 0 ? 'from' : 'not before'} {moment(earliestAt)}
            </li>
          ))}
        </ol>
      ) : null}
      {stages.length === 1 && isLater(stages[0]) ? <p>Not before {moment(stages[0].earliestAt)}.</p> : null}
      {'devices' in value ? <PlannedChanges plan={value} /> : null}
    </>
  )
}
