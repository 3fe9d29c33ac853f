import { useState } from 'preact/hooks'
import { decodeFile } from '#client/file-encoding'
import { post } from '../../api/client.ts'
import type { AnswerOf, Operation } from '../../api/operations.ts'
import { Dialog } from '../../components/dialog.tsx'
import { faultAt } from '../../components/field-errors.ts'
import { count } from '../../components/format.ts'
import { homeOrganizationId } from '../../state/session.ts'
import { OrganizationPicker } from '../shell/shell.tsx'
import css from './devices.module.css'

type ImportReport = AnswerOf<Operation<'post', '/devices/import'>>

const shownFailures = 100

/** A file that is not Unicode, and a part of its text as Windows-1252. */
type GuessedFile = { key: string; example: string }

const keyOf = ({ name, size, lastModified }: File): string => `${name} ${size} ${lastModified}`

/** Imports devices from a CSV file and lists the lines that failed, with reasons. */
export function ImportDialog({ onClose, onImported }: { onClose: () => void; onImported: () => void }) {
  const [report, setReport] = useState<ImportReport>()
  const [guessed, setGuessed] = useState<GuessedFile>()
  return (
    <Dialog
      title="Import devices"
      submitLabel={guessed ? 'Import as Windows-1252' : report ? 'Import again' : 'Import'}
      closeLabel={report ? 'Done' : 'Cancel'}
      isDone={report !== undefined}
      onClose={onClose}
      onSubmit={async (form) => {
        const file = form.get('file')
        if (!(file instanceof File) || file.size === 0) throw faultAt('file', 'Choose a CSV file first.')
        setReport(undefined)
        const { text, example } = decodeFile(new Uint8Array(await file.arrayBuffer()))
        const isConfirmed = guessed?.key === keyOf(file)
        setGuessed(example === undefined || isConfirmed ? undefined : { key: keyOf(file), example })
        if (example !== undefined && !isConfirmed) return
        setReport(
          await post('/devices/import', {
            query: { orgId: homeOrganizationId.value, existing: form.has('update') ? 'update' : 'fail' },
            raw: { text, contentType: 'text/csv' },
          }),
        )
        onImported()
      }}
    >
      <p>
        The first line names the columns <code>serial</code>, <code>name</code>, <code>model</code> and, if you like,{' '}
        <code>tags</code>. An exported file works, too. Columns are separated by commas, semicolons or tabs; tags by
        semicolons. Lines with mistakes are skipped and listed here.
      </p>
      <OrganizationPicker allowAll={false} />
      <label class="field">
        <span>CSV file</span>
        <input name="file" type="file" accept=".csv,.txt,text/csv" />
      </label>
      <label class="choice">
        <input type="checkbox" name="update" />
        <span>
          Update existing devices
          <span class="hint"> (name, model and tags, found by the serial)</span>
        </span>
      </label>
      {guessed ? (
        <div class="notice" role="status">
          The file is not UTF-8. Read as Windows-1252, it contains for example <strong>{guessed.example}</strong>. If
          this is wrong, save the file as CSV UTF-8 and choose it again.
        </div>
      ) : null}
      {report ? <Report report={report} /> : null}
    </Dialog>
  )
}

function Report({ report: { created, updated, results } }: { report: ImportReport }) {
  const failed = results.filter(({ status }) => status === 'failed')
  const parts = [
    `${count(created)} created`,
    ...(updated > 0 ? [`${count(updated)} updated`] : []),
    `${count(failed.length)} failed`,
  ]
  return (
    <div class={`notice ${css.importReport}`} role="status">
      <strong>{parts.join(', ')}</strong>
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
