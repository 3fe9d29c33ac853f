import { useState } from 'preact/hooks'
import { decodeFile } from '#client/file-encoding'
import { post } from '../../api/client.ts'
import type { AnswerOf, Operation } from '../../api/operations.ts'
import { Dialog } from '../../components/dialog.tsx'
import { faultAt } from '../../components/field-errors.ts'
import { count, plural } from '../../components/format.ts'
import { homeOrganizationId } from '../../state/session.ts'
import { OrganizationPicker } from '../shell/shell.tsx'
import css from './devices.module.css'

type ImportReport = AnswerOf<Operation<'post', '/devices/import'>>

const shownFailures = 100

/**
 * A file that was checked. `change`: the rows that the service would create and change. `example`: a part of the text of a file that
 * is not Unicode, read as Windows-1252.
 */
type CheckedFile = { text: string; plan: ImportReport; change: number; example: string | undefined }

/** Imports devices from a CSV file. Checks the file first, and lists the lines that fail, with reasons. */
export function ImportDialog({ onClose, onImported }: { onClose: () => void; onImported: () => void }) {
  const [checked, setChecked] = useState<CheckedFile>()
  const [report, setReport] = useState<ImportReport>()
  const send = (form: FormData, text: string, isDryRun: boolean) =>
    post('/devices/import', {
      query: {
        orgId: homeOrganizationId.value,
        existing: form.has('update') ? 'update' : 'fail',
        ...(isDryRun ? { dryRun: true } : {}),
      },
      raw: { text, contentType: 'text/csv' },
    })
  const check = async (form: FormData) => {
    const file = form.get('file')
    if (!(file instanceof File) || file.size === 0) throw faultAt('file', 'Choose a CSV file first.')
    setReport(undefined)
    const { text, example } = decodeFile(new Uint8Array(await file.arrayBuffer()))
    const plan = await send(form, text, true)
    setChecked({ text, plan, change: plan.created + plan.updated, example })
  }
  const isReady = checked !== undefined && checked.change > 0
  return (
    <Dialog
      title="Import devices"
      submitLabel={isReady ? importLabel(checked) : report ? 'Check another file' : 'Check file'}
      closeLabel={report ? 'Done' : 'Cancel'}
      isDone={report !== undefined}
      onClose={onClose}
      onSubmit={async (form) => {
        if (!isReady) return check(form)
        setReport(await send(form, checked.text, false))
        setChecked(undefined)
        onImported()
      }}
    >
      <p>
        The first line names the columns <code>serial</code>, <code>name</code>, <code>model</code> and, if you like,{' '}
        <code>tags</code> and <code>notes</code>. An exported file works, too. Columns are separated by commas,
        semicolons or tabs; tags by semicolons. Lines with mistakes are skipped and listed here.
      </p>
      {/* What was checked is only true of these fields. */}
      <div class={css.importFields} onChange={() => setChecked(undefined)}>
        <OrganizationPicker allowAll={false} />
        <label class="field">
          <span>CSV file</span>
          <input name="file" type="file" accept=".csv,.txt,text/csv" />
        </label>
        <label class="choice">
          <input type="checkbox" name="update" />
          <span>
            Update existing devices
            <span class="hint"> (name, model, tags and notes, found by the serial)</span>
          </span>
        </label>
      </div>
      {checked?.example === undefined ? null : (
        <div class="notice" role="status">
          The file is not UTF-8. Read as Windows-1252, it contains for example <strong>{checked.example}</strong>. If
          this is wrong, save the file as CSV UTF-8 and choose it again.
        </div>
      )}
      {checked ? <Report report={checked.plan} isPlan /> : null}
      {report ? <Report report={report} /> : null}
    </Dialog>
  )
}

const importLabel = ({ change, example }: CheckedFile): string =>
  `Import ${plural(change, 'device')}${example === undefined ? '' : ' as Windows-1252'}`

/** What an import did, or, for a plan, what it will do. */
function Report({ report: { created, updated, results }, isPlan = false }: { report: ImportReport; isPlan?: boolean }) {
  const failed = results.filter(({ status }) => status === 'failed')
  const parts = isPlan
    ? [
        `${plural(created, 'device')} to create`,
        ...(updated > 0 ? [`${count(updated)} to update`] : []),
        `${plural(failed.length, 'line')} with mistakes`,
      ]
    : [
        `${count(created)} created`,
        ...(updated > 0 ? [`${count(updated)} updated`] : []),
        `${count(failed.length)} failed`,
      ]
  return (
    <div class={`notice ${css.importReport}`} role="status">
      <strong>{parts.join(', ')}</strong>
      {isPlan && created + updated === 0 ? <p>Nothing was imported. Correct the file and check it again.</p> : null}
      {failed.length > 0 ? (
        <ul>
          {failed.slice(0, shownFailures).map(({ line, detail, code }) => (
            <li key={line}>
              Line {line}: {detail ?? code}
            </li>
          ))}
          {failed.length > shownFailures ? <li>and {count(failed.length - shownFailures)} more</li> : null}
        </ul>
      ) : null}
    </div>
  )
}
