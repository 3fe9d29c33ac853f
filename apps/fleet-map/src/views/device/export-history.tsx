import type { Device } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { type DownloadFormat, downloadFile } from '../../components/download.ts'
import { telemetryPath } from '../../state/history.ts'

const windows = [
  { minutes: 60, label: 'Last hour' },
  { minutes: 1_440, label: 'Last 24 hours' },
  { minutes: 10_080, label: 'Last 7 days' },
  { minutes: 43_200, label: 'Last 30 days' },
]

const formats: { format: DownloadFormat; label: string }[] = [
  { format: 'csv', label: 'CSV, for spreadsheets' },
  { format: 'parquet', label: 'Parquet, for data tools and maps' },
]

type Kind = '' | 'cellular' | 'location' | 'connection' | 'system'

const kinds: { kind: Kind; label: string }[] = [
  { kind: '', label: 'All telemetry' },
  { kind: 'cellular', label: 'Signal' },
  { kind: 'location', label: 'Positions' },
  { kind: 'connection', label: 'Connection' },
  { kind: 'system', label: 'System health' },
]

/** Downloads the telemetry history of a device as a file. */
export function ExportHistory({ device, onClose }: { device: Device; onClose: () => void }) {
  const download = async (form: FormData) => {
    const kind = form.get('kind') as Kind
    const query = { sinceMinutes: Number(form.get('minutes')), kind }
    const format = form.get('format') as DownloadFormat
    await downloadFile(telemetryPath(device.id, 'history'), query, `history-${device.serial}`, format)
    onClose()
  }
  return (
    <Dialog title={`Export the history of ${device.name}`} submitLabel="Download" onClose={onClose} onSubmit={download}>
      <label class="field">
        <span>Time range</span>
        <select class="input" name="minutes">
          {windows.map(({ minutes, label }) => (
            <option key={minutes} value={minutes} selected={minutes === 1_440}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>Content</span>
        <select class="input" name="kind">
          {kinds.map(({ kind, label }) => (
            <option key={kind} value={kind}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label class="field">
        <span>File</span>
        <select class="input" name="format">
          {formats.map(({ format, label }) => (
            <option key={format} value={format}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <p class="hint">Newest first. The plan limits how far back the history goes.</p>
    </Dialog>
  )
}
