import { get } from '../../api/client.ts'
import type { DeviceConfig } from '../../api/schemas.ts'
import { plural } from '../../components/format.ts'
import { useResource } from '../../components/resource.ts'
import { type Column, Table } from '../../components/table.tsx'
import { isObject } from '../../state/profile-settings.ts'
import { holds } from '../../state/session.ts'
import { diffSettings, type SettingChange } from '../../state/settings-diff.ts'

type PlannedChangesProps = { org: string; deviceId: string; profileId: string }

/** Which settings of a device a profile will change, for readers who may see settings. */
export const PlannedChanges = (props: PlannedChangesProps) =>
  holds(props.org, 'config:read') ? <Changes {...props} /> : null

const shownChanges = 20

function Changes({ deviceId, profileId }: PlannedChangesProps) {
  const config = useResource(`changes of ${deviceId} by ${profileId}`, (signal) =>
    get(`/devices/${deviceId}/config`, { signal, query: { profileId } }),
  )
  if (!config.value) return null
  const changes = changesOf(config.value)
  if (changes.length === 0) return <p>The settings of the device stay as they are, apart from secrets.</p>
  return (
    <>
      <Table
        caption="What changes on the device"
        columns={columns}
        rows={changes.slice(0, shownChanges)}
        keyOf={({ path }) => path}
      />
      {changes.length > shownChanges ? (
        <p class="label">and {plural(changes.length - shownChanges, 'further setting')}</p>
      ) : null}
    </>
  )
}

/** Between what the device runs, as far as it is known, and what it will receive. Secrets are not compared. */
function changesOf({ settings, desired, reported }: DeviceConfig): SettingChange[] {
  const present = reported?.settings ?? desired?.settings ?? {}
  return diffSettings(present, withoutSecrets(settings ?? {}))
}

const withoutSecrets = (settings: { [key: string]: unknown }): { [key: string]: unknown } =>
  Object.fromEntries(
    Object.entries(settings)
      .filter(([, value]) => !(isObject(value) && '$secret' in value))
      .map(([name, value]) => [name, isObject(value) ? withoutSecrets(value) : value]),
  )

const shown = (value: string | undefined) =>
  value === undefined ? <span class="label">None</span> : <code>{value}</code>

const columns: Column<SettingChange>[] = [
  { title: 'Setting', cell: ({ path }) => <code>{path}</code> },
  { title: 'Now', cell: ({ before }) => shown(before) },
  { title: 'After', cell: ({ after }) => shown(after) },
]
