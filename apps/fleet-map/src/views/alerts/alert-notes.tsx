import { patch } from '../../api/client.ts'
import type { Alert } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { AssigneeField, CommentField, readNotes } from './alert-bulk.tsx'
import { subjectName } from './alert-subject.tsx'

type AlertNotesProps = { org: string; alert: Alert; onClose: () => void; onSaved: () => void }

/** Changes the assignee and the comment of an alert. */
export const AlertNotesDialog = ({ org, alert, onClose, onSaved }: AlertNotesProps) => (
  <Dialog
    title={`${subjectName(alert) ?? 'Alert'}: assignee and comment`}
    submitLabel="Save"
    onClose={onClose}
    onSubmit={async (form) => {
      const { comment, assignee } = readNotes(form)
      const body = { comment: comment || null, assignee: assignee || null }
      await patch(`/orgs/${org}/alerts/${alert.id}`, { body })
      onSaved()
    }}
  >
    <AssigneeField value={alert.assignee ?? ''} />
    <CommentField value={alert.comment ?? ''} />
  </Dialog>
)
