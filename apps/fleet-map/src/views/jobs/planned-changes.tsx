import type { ConfigApplicationPlan, PlannedDevice } from '../../api/schemas.ts'
import { plural } from '../../components/format.ts'
import { type Column, Table } from '../../components/table.tsx'

const shownSettings = 20
const shownDevices = 10
const shownPaths = 3

/** Which settings the application of a profile will change. Secrets are not compared. */
export function PlannedChanges({ plan: { devices, total } }: { plan: ConfigApplicationPlan }) {
  // Null for readers who may not see settings.
  if (devices === null || devices.length === 0) return null
  const [only] = devices
  if (total === 1 && only) return <Settings device={only} />
  const changing = devices.filter(({ differences }) => differences.length > 0)
  if (changing.length === 0 && devices.length === total)
    return <p>The settings of the devices stay as they are, apart from secrets.</p>
  const rest = total - Math.min(devices.length, shownDevices)
  return (
    <>
      <Table
        caption="What changes on the devices"
        columns={deviceColumns}
        rows={devices.slice(0, shownDevices)}
        keyOf={({ deviceId }) => deviceId}
      />
      {rest > 0 ? <p class="label">and {plural(rest, 'further device')}</p> : null}
    </>
  )
}

function Settings({ device: { differences } }: { device: PlannedDevice }) {
  if (differences.length === 0) return <p>The settings of the device stay as they are, apart from secrets.</p>
  return (
    <>
      <Table
        caption="What changes on the device"
        columns={settingColumns}
        rows={differences.slice(0, shownSettings)}
        keyOf={({ path }) => path}
      />
      {differences.length > shownSettings ? (
        <p class="label">and {plural(differences.length - shownSettings, 'further setting')}</p>
      ) : null}
    </>
  )
}

/** A JSON pointer as people write a path. */
const pathText = (pointer: string): string =>
  pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .join('.')

const shown = (value: unknown) =>
  value === null || value === undefined ? (
    <span class="label">None</span>
  ) : (
    <code>{typeof value === 'string' ? value : JSON.stringify(value)}</code>
  )

const settingColumns: Column<PlannedDevice['differences'][number]>[] = [
  { title: 'Setting', cell: ({ path }) => <code>{pathText(path)}</code> },
  { title: 'Now', cell: ({ reported }) => shown(reported) },
  { title: 'After', cell: ({ desired }) => shown(desired) },
]

const deviceColumns: Column<PlannedDevice>[] = [
  { title: 'Device', cell: ({ name }) => name },
  { title: 'Settings that change', cell: ({ differences }) => changedText(differences) },
]

function changedText(differences: PlannedDevice['differences']): string {
  if (differences.length === 0) return 'None, apart from secrets'
  const paths = differences.slice(0, shownPaths).map(({ path }) => pathText(path))
  const rest = differences.length - paths.length
  return rest > 0 ? `${paths.join(', ')} and ${rest} more` : paths.join(', ')
}
