import { useState } from 'preact/hooks'
import { all, get } from '../../api/client.ts'
import type { Device, DeviceConfig } from '../../api/schemas.ts'
import { Dialog } from '../../components/dialog.tsx'
import { useResource } from '../../components/resource.ts'
import { SettingsTable } from '../../components/settings-table.tsx'
import { Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { linkTo } from '../../state/url.ts'
import { VariableText } from './variables.tsx'

/** What a device would receive if a profile were applied now, and where each value is from. */
export function DeviceSettingsDialog({ device, onClose }: { device: Device; onClose: () => void }) {
  const [chosen, setChosen] = useState(device.configProfile?.id ?? '')
  const profiles = useResource(`profiles of ${device.organizationId}`, () =>
    all(`/orgs/${device.organizationId}/configs`),
  )
  const fitting = profiles.value?.filter(({ model }) => model === null || model === device.model) ?? []
  return (
    <Dialog title={`Settings for ${device.name}`} closeLabel="Close" onClose={onClose}>
      <label class="field">
        <span>Profile</span>
        <select class="input" value={chosen} onChange={(event) => setChosen(event.currentTarget.value)}>
          <option value="">Choose a profile</option>
          {fitting.map(({ id, name, version }) => (
            <option key={id} value={id}>
              {name}, version {version}
            </option>
          ))}
        </select>
      </label>
      {profiles.error ? <Failure error={profiles.error} retry={profiles.reload} /> : null}
      {chosen ? <Rendered key={chosen} deviceId={device.id} profileId={chosen} /> : null}
    </Dialog>
  )
}

function Rendered({ deviceId, profileId }: { deviceId: string; profileId: string }) {
  const config = useResource(`config ${deviceId} ${profileId}`, (signal) =>
    get(`/devices/${deviceId}/config`, { signal, query: { profileId } }),
  )
  if (!config.value) return config.error ? <Failure error={config.error} retry={config.reload} /> : <Loading rows={3} />
  const { settings, variables, missingVariables } = config.value
  return (
    <>
      {missingVariables.length > 0 ? (
        <p class="notice bad">
          The profile cannot be applied to this device: {missingVariables.join(', ')}{' '}
          {missingVariables.length === 1 ? 'has' : 'have'} no value.
        </p>
      ) : null}
      {variables.length > 0 ? (
        <Table caption="Where the values are from" columns={columns} rows={variables} keyOf={({ name }) => name} />
      ) : null}
      {settings ? <SettingsTable settings={settings} /> : null}
    </>
  )
}

type UsedVariable = DeviceConfig['variables'][number]

const columns: Column<UsedVariable>[] = [
  { title: 'Variable', cell: ({ name }) => <code>{name}</code> },
  {
    title: 'Value',
    cell: ({ value, source }) =>
      source.kind === 'default' ? <span class="label">Default</span> : <VariableText value={value} />,
  },
  { title: 'From', cell: ({ source }) => <Source source={source} /> },
]

const sourceWords = {
  device: 'This device',
  organization: 'The organization',
  builtIn: 'Built in',
  default: 'The profile',
}

const Source = ({ source }: { source: UsedVariable['source'] }) =>
  source.kind === 'group' ? (
    <a href={linkTo('groups', { group: source.id })}>
      {source.name} (priority {source.priority})
    </a>
  ) : (
    <span>{sourceWords[source.kind]}</span>
  )
