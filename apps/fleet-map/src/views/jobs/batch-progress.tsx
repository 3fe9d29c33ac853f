import type { JobBatchSummary } from '../../api/schemas.ts'
import { count } from '../../components/format.ts'
import { jobLook, jobStatuses } from '../../components/label-text.ts'
import css from './jobs.module.css'

/** Shows the job counts by state, as a bar and as text. */
export function ProgressBar({ batch }: { batch: Pick<JobBatchSummary, 'counts' | 'total'> }) {
  const present = jobStatuses.filter((status) => batch.counts[status] > 0)
  const text = present
    .map((status) => `${count(batch.counts[status])} ${jobLook[status].label.toLowerCase()}`)
    .join(', ')
  return (
    <div class={css.jobProgress}>
      <div class="bar" role="img" aria-label={text || 'No jobs'}>
        {present.map((status) => (
          <span
            key={status}
            style={{
              width: `${(batch.counts[status] / Math.max(1, batch.total)) * 100}%`,
              background: jobLook[status].color,
            }}
          />
        ))}
      </div>
      <span class="label">{text || 'No jobs'}</span>
    </div>
  )
}
