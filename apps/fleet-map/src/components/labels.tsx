import type { DeviceStatus, Job, Quality } from '../api/schemas.ts'
import { jobLook, qualityLabel, statusLook } from './label-text.ts'

/** A device's status as a shape, a colour and a word. */
export const StatusLabel = ({ status }: { status: DeviceStatus }) => (
  <span class="status">
    <span aria-hidden="true" style={{ color: statusLook[status].color }}>
      {statusLook[status].mark}
    </span>
    {statusLook[status].label}
  </span>
)

export const QualityLabel = ({ quality, rat }: { quality: Quality | null; rat: string | null }) =>
  rat === 'none' ? (
    <span class="status">
      <span class="swatch hatched" /> No service
    </span>
  ) : quality === null ? (
    <span class="status">
      <span class="swatch" /> Unknown
    </span>
  ) : (
    <span class="status">
      <span class="swatch" style={{ background: `var(--quality-${quality})` }} /> {qualityLabel[quality]}
    </span>
  )

/** The state of a job, with the part that is done while it runs. */
export const JobProgress = ({ job: { status, progress, finishedAt } }: { job: Job }) => (
  <span class="status">
    <span class="swatch" style={{ background: jobLook[status].color }} />
    {jobLook[status].label}
    {progress !== null && finishedAt === null ? ` ${progress} %` : ''}
  </span>
)
