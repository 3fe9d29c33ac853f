import { useState } from 'preact/hooks'
import { useAction } from '../../components/action.ts'
import { Dialog } from '../../components/dialog.tsx'
import { count, plural } from '../../components/format.ts'
import { FailureNotice } from '../../components/notice.tsx'
import { SelectionBar } from '../../components/selection-bar.tsx'
import { type AlertChoice, type HandledCounts, handleChoice } from './alert-choice.ts'

type AlertVerb = 'acknowledge' | 'close'

type AlertBulkBarProps = {
  org: string
  choice: AlertChoice
  /** False if all chosen alerts are acknowledged. */
  canAcknowledge: boolean
  /** Chooses all alerts that match the filter; undefined if there are no others. */
  onAll: (() => Promise<void>) | undefined
  onClear: () => void
  onDone: (text: string) => void
}

/** What can be done with the chosen alerts. */
export function AlertBulkBar({ org, choice, canAcknowledge, onAll, onClear, onDone }: AlertBulkBarProps) {
  const [open, setOpen] = useState<AlertVerb | null>(null)
  const { busy, failure, run } = useAction()
  return (
    <SelectionBar noun="alerts" size={choice.size} isAll={'filter' in choice}>
      {onAll ? (
        <button type="button" class="button small" disabled={busy} onClick={() => run(onAll)}>
          Select all matching alerts
        </button>
      ) : null}
      <span class="grow" />
      {canAcknowledge ? (
        <button type="button" class="button small" onClick={() => setOpen('acknowledge')}>
          Acknowledge selected
        </button>
      ) : null}
      <button type="button" class="button small" onClick={() => setOpen('close')}>
        Close selected
      </button>
      <button type="button" class="button quiet small" onClick={onClear}>
        Clear selection
      </button>
      <FailureNotice reason={failure} />
      {open ? (
        <HandleDialog
          verb={open}
          size={choice.size}
          onClose={() => setOpen(null)}
          onSubmit={async (notes) => onDone(doneText(open, await handleChoice(org, open, choice, notes)))}
        />
      ) : null}
    </SelectionBar>
  )
}

/** For example "28 alerts acknowledged. 2 were closed before." */
function doneText(verb: AlertVerb, { changed, unchanged, refused }: HandledCounts): string {
  const state = verb === 'close' ? 'closed' : 'acknowledged'
  const were = (number: number) => `${count(number)} ${number === 1 ? 'was' : 'were'}`
  return [
    `${plural(changed, 'alert')} ${state}.`,
    ...(unchanged > 0 ? [`${were(unchanged)} ${state} before.`] : []),
    ...(refused > 0 ? [`${were(refused)} closed or deleted before.`] : []),
  ].join(' ')
}

type HandleDialogProps = {
  verb: AlertVerb
  size: number
  onClose: () => void
  onSubmit: (notes: { comment: string; assignee: string }) => Promise<void>
}

function HandleDialog({ verb, size, onClose, onSubmit }: HandleDialogProps) {
  const alerts = plural(size, 'alert')
  return (
    <Dialog
      title={verb === 'close' ? `Close ${alerts}?` : `Acknowledge ${alerts}?`}
      submitLabel={verb === 'close' ? `Close ${alerts}` : `Acknowledge ${alerts}`}
      onClose={onClose}
      onSubmit={(form) => onSubmit(readNotes(form))}
    >
      {verb === 'close' ? <p>While the condition continues, no other alert of the rule opens for the device.</p> : null}
      {verb === 'acknowledge' ? <AssigneeField value="" /> : null}
      <CommentField value="" />
    </Dialog>
  )
}

/** Reads the fields of `AssigneeField` and `CommentField`. */
export const readNotes = (form: FormData): { comment: string; assignee: string } => {
  const text = (name: string) => String(form.get(name) ?? '').trim()
  return { comment: text('comment'), assignee: text('assignee') }
}

export const AssigneeField = ({ value }: { value: string }) => (
  <label class="field">
    <span>Who takes care of it (optional)</span>
    <input class="input" name="assignee" maxLength={200} placeholder="Name or e-mail address" defaultValue={value} />
  </label>
)

export const CommentField = ({ value }: { value: string }) => (
  <label class="field">
    <span>Comment (optional)</span>
    <input class="input" name="comment" maxLength={1_000} defaultValue={value} />
  </label>
)
