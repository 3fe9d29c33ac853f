import { useState } from 'preact/hooks'
import { ApiError, call } from '../../api/client.ts'
import { Dialog } from '../../components/dialog.tsx'
import { count } from '../../components/format.ts'
import { homeOrganizationId } from '../../state/session.ts'
import { OrganizationPicker } from '../shell.tsx'

type ImportRow = { line: number; status: 'created' | 'updated' | 'failed'; code?: string; detail?: string }
type ImportReport = { created: number; updated: number; results: ImportRow[] }

const shownFailures = 100

/** Imports devices from a CSV file and lists the lines that failed, with reasons. */
export function ImportDialog({ onClose, onImported }: { onClose: () => void; onImported: () => void }) {
  const [report, setReport] = useState<ImportReport>()
  return (
    <Dialog
      title="Import devices"
      submitLabel={report ? 'Import again' : 'Import'}
      closeLabel={report ? 'Done' : 'Cancel'}
      onClose={onClose}
      onSubmit={async (form) => {
        const file = form.get('file')
        if (!(file instanceof File) || file.size === 0) throw new ApiError(0, 'no_file', 'Choose a CSV file first.')
        setReport(undefined)
        setReport(
          await call<ImportReport>('/devices/import', {
            method: 'POST',
            query: { orgId: homeOrganizationId.value, existing: form.has('update') ? 'update' : 'fail' },
            raw: { text: await file.text(), contentType: 'text/csv' },
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
    <div class="notice import-report" role="status">
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
