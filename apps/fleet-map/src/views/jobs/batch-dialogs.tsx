import { post } from '../../api/client.ts'
import type { Job, JobBatch } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { count, plural } from '../../components/format.ts'

export type BatchVerb = 'cancel' | 'pause' | 'resume' | 'retry'
export type JobVerb = 'cancel' | 'retry'

type ConfirmBatchProps = { org: string; batch: JobBatch; verb: BatchVerb; onClose: () => void; onDone: () => void }

/** Asks before a change of a whole batch. */
export const ConfirmBatch = ({ org, batch, verb, onClose, onDone }: ConfirmBatchProps) => {
  const { counts } = batch
  const waiting = counts.queued + counts.dispatched
  const words: Record<BatchVerb, { title: string; submit: string; text: string }> = {
    cancel: {
      title: 'Cancel this batch?',
      submit: 'Cancel batch',
      text: `Jobs that will not run: ${count(waiting)}. Jobs in progress: ${count(counts.inProgress)}; their routers are asked to stop, and may finish.`,
    },
    pause: {
      title: 'Pause this batch?',
      submit: 'Pause',
      text: `Jobs that wait until you resume the batch: ${count(waiting)}. Jobs in progress continue.`,
    },
    resume: {
      title: batch.pauseReason === 'stage' ? 'Start the next stage?' : 'Resume this batch?',
      submit: batch.pauseReason === 'stage' ? 'Start' : 'Resume',
      text:
        batch.pauseReason === 'failures'
          ? `Failures so far: ${count(counts.failed + counts.timedOut + counts.rejected)}. They no longer pause the batch. Jobs that continue: ${count(waiting)}.`
          : `Jobs that continue: ${count(waiting)}.`,
    },
    retry: {
      title: `Retry ${plural(batch.total - counts.succeeded, 'job')}?`,
      submit: 'Retry',
      text: 'All jobs that ended without success run again, in stages if the batch has stages.',
    },
  }
  const { title, submit, text } = words[verb]
  return (
    <Dialog
      title={title}
      submitLabel={submit}
      danger={verb === 'cancel'}
      onClose={onClose}
      onSubmit={async () => {
        await post(`/orgs/${org}/job-batches/${batch.id}/${verb}`)
        onDone()
      }}
    >
      <p>{text}</p>
    </Dialog>
  )
}

type ConfirmJobProps = {
  org: string
  job: Job
  device: string
  verb: JobVerb
  onClose: () => void
  onDone: () => void
}

/** Asks before a change of one job. */
export const ConfirmJob = ({ org, job, device, verb, onClose, onDone }: ConfirmJobProps) => (
  <Dialog
    title={verb === 'cancel' ? `Cancel the job of ${device}?` : `Retry the job of ${device}?`}
    submitLabel={verb === 'cancel' ? 'Cancel job' : 'Retry'}
    danger={verb === 'cancel'}
    onClose={onClose}
    onSubmit={async () => {
      await post(`/orgs/${org}/jobs/${job.id}/${verb}`)
      onDone()
    }}
  >
    <p>
      {verb === 'retry'
        ? 'The router receives the job again when it next connects.'
        : job.status === 'inProgress'
          ? 'The router has the job. It is asked to stop, and its report decides how the job ends.'
          : 'The router has not received the job. It will not run it.'}
    </p>
  </Dialog>
)
