import { useRef, useState } from 'preact/hooks'
import { ApiError, call } from '../api/client.ts'
import { Dialog } from '../components/dialog.tsx'
import { homeOrganizationId } from '../state/session.ts'
import { OrganizationPicker } from './shell.tsx'

type ImportAnswer = {
  created: number
  results: { index: number; status: 'created' | 'failed'; id?: string; code?: string; detail?: string }[]
}

/** Imports devices from a CSV file and lists the rows that failed, with reasons. */
export function ImportDialog({ onClose, onImported }: { onClose: () => void; onImported: () => void }) {
  const input = useRef<HTMLInputElement>(null)
  const [answer, setAnswer] = useState<ImportAnswer>()
  const failed = answer?.results.filter((row) => row.status === 'failed') ?? []
  return (
    <Dialog
      title="Import devices"
      submitLabel={answer ? 'Import again' : 'Import'}
      onClose={onClose}
      onSubmit={async () => {
        const file = input.current?.files?.[0]
        if (!file) throw new ApiError(0, 'no_file', 'Choose a CSV file first.')
        setAnswer(undefined)
        setAnswer(
          await call<ImportAnswer>('/devices/import', {
            method: 'POST',
            query: { orgId: homeOrganizationId.value },
            raw: { text: await file.text(), contentType: 'text/csv' },
          }),
        )
        onImported()
      }}
    >
      <p>
        The first line must contain the column names <code>serial,name,model,tags</code>. Separate tags with semicolons.
        Invalid rows are skipped and listed here.
      </p>
      <OrganizationPicker allowAll={false} />
      <label class="field">
        <span>CSV file</span>
        <input ref={input} type="file" accept=".csv,text/csv" />
      </label>
      {answer ? (
        <div class="notice" role="status">
          <strong>
            {answer.created} created, {failed.length} failed
          </strong>
          {failed.length > 0 ? (
            <ul>
              {failed.slice(0, 50).map((row) => (
                <li key={row.index}>
                  Row {row.index + 1}: {row.detail ?? row.code}
                </li>
              ))}
            </ul>
          ) : null}
        </div>
      ) : null}
    </Dialog>
  )
}
