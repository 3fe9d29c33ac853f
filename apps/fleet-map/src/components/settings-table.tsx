import { labelOf } from '../state/known-settings.ts'
import { isSetSecret, settingValues, variableOf } from '../state/profile-settings.ts'
import { type Column, Table } from './table.tsx'

type Setting = { path: string; value: unknown }

const columns: Column<Setting>[] = [
  { title: 'Setting', cell: ({ path }) => labelOf(path) ?? <code>{path}</code> },
  { title: 'Value', cell: ({ value }) => <SettingValue value={value} /> },
]

/** The settings of a config profile as people read them. Settings that the page does not know have their path. */
export function SettingsTable({ settings }: { settings: { [key: string]: unknown } }) {
  const rows = settingValues(settings)
  if (rows.length === 0) return <p class="label">No settings.</p>
  return <Table caption="Settings" columns={columns} rows={rows} keyOf={({ path }) => path} />
}

function SettingValue({ value }: { value: unknown }) {
  const variable = variableOf(value)
  if (variable !== undefined)
    return (
      <>
        Variable <code>{variable}</code>
      </>
    )
  if (isSetSecret(value)) return <span class="label">Secret, set</span>
  if (typeof value === 'boolean') return <>{value ? 'Yes' : 'No'}</>
  const isList = Array.isArray(value) && value.every((one) => typeof one !== 'object')
  return (
    <span class="breakable">
      {isList ? value.join(', ') : typeof value === 'string' ? value : JSON.stringify(value)}
    </span>
  )
}
