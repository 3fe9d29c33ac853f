import { useState } from 'preact/hooks'
import { get } from '../../api/client.ts'
import type { ListItemOf, Operation } from '../../api/operations.ts'
import type { ConfigProfile } from '../../api/schemas.ts'
import { count } from '../../components/format.ts'
import { StatusLabel } from '../../components/labels.tsx'
import { useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { linkTo } from '../../state/url.ts'

type ProfileDevice = ListItemOf<Operation<'get', `/orgs/${string}/configs/${string}/devices`>>

/** The devices that run a profile, and those that run an earlier version. */
export function ProfileDevices({ org, profile }: { org: string; profile: ConfigProfile }) {
  const [onlyBehind, setOnlyBehind] = useState(true)
  const devices = useResource(
    `devices of ${profile.id} ${profile.version} ${onlyBehind}`,
    (signal) =>
      get(`/orgs/${org}/configs/${profile.id}/devices`, {
        signal,
        query: { behind: onlyBehind, limit: 100 },
      }),
    { everyMs: 5_000 },
  )
  const value = devices.value
  if (!value) return devices.error ? <Failure error={devices.error} retry={devices.reload} /> : <Loading rows={2} />
  const { current, behind } = value.counts
  const columns: Column<ProfileDevice>[] = [
    { title: 'Device', cell: ({ id, name }) => <a href={linkTo('map', { device: id })}>{name}</a> },
    { title: 'Status', cell: ({ status }) => <StatusLabel status={status} />, optional: true },
    { title: 'Applied', cell: ({ appliedVersion }) => <span class="one-line">{`Version ${appliedVersion}`}</span> },
    {
      title: 'Job',
      cell: ({ pendingVersion }) => (pendingVersion === null ? 'None' : `Version ${pendingVersion} waits`),
    },
  ]
  return (
    <section class="card panel" aria-label="Devices">
      <div class="toolbar">
        <h2 class="grow">Devices</h2>
        <div class="segmented">
          <button type="button" aria-pressed={onlyBehind} onClick={() => setOnlyBehind(true)}>
            Earlier version ({count(behind)})
          </button>
          <button type="button" aria-pressed={!onlyBehind} onClick={() => setOnlyBehind(false)}>
            All ({count(current + behind)})
          </button>
        </div>
      </div>
      <p>
        {current + behind === 0
          ? 'No device runs this profile yet.'
          : `${count(current)} of ${count(current + behind)} devices run version ${profile.version}.`}
      </p>
      {value.items.length > 0 ? (
        <Table caption="Devices with this profile" columns={columns} rows={value.items} keyOf={({ id }) => id} />
      ) : null}
      {value.nextCursor ? <p class="label">The first 100 devices are shown.</p> : null}
    </section>
  )
}
