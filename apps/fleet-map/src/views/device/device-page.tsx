import { useState } from 'preact/hooks'
import type { Device, LatestTelemetry } from '../../api/schemas.ts'
import { type Entity, useEntity } from '../../components/entity.ts'
import { ago, moment } from '../../components/format.ts'
import { StatusLabel } from '../../components/labels.tsx'
import { lazyView } from '../../components/lazy-view.tsx'
import { useResource } from '../../components/resource.ts'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { Chips } from '../../components/table.tsx'
import { useTitle } from '../../components/title.ts'
import { readDeviceWithModems } from '../../state/fleet.ts'
import { readLatest } from '../../state/history.ts'
import { holds, organizations, type Scope } from '../../state/session.ts'
import { linkTo, place } from '../../state/url.ts'
import { OpenAlertsBanner } from '../alerts/open-alerts.tsx'
import { Variables } from '../variables/variables.tsx'
import css from './device.module.css'
import { DeviceCharts } from './device-charts.tsx'
import { DeviceEvents } from './device-events.tsx'
import { Dwells, Fact, Health } from './device-facts.tsx'
import { DeviceGroups } from './device-groups.tsx'
import { DeviceIdentity } from './device-identity.tsx'
import { DeviceJobList } from './device-job-list.tsx'
import { DeviceModems } from './device-modems.tsx'
import { Outages } from './device-outages.tsx'
import { DeviceProfile } from './device-profile.tsx'
import { DeviceRadio } from './device-radio.tsx'
import { SignalNow } from './device-signal.tsx'
import { DeviceSims } from './device-sims.tsx'
import { DeviceTokens } from './device-tokens.tsx'
import { DeviceTools } from './device-tools.tsx'
import { Trips } from './device-trips.tsx'
import { Whereabouts } from './whereabouts.tsx'

// The drawing of maps is large.
const DeviceMap = lazyView(async () => (await import('./device-map.tsx')).DeviceMap)

/** Routers report once in several seconds to a minute. */
const refreshMs = 15_000

/** Everything about one device, named by `id` in the address. */
export function DevicePage() {
  const { id = '' } = place.value.params
  const found = useEntity(`/devices/${encodeURIComponent(id)}`, { everyMs: refreshMs })
  if (!found.value) {
    if (!found.error) return <Loading />
    return found.error.status === 404 || id === '' ? <Unknown /> : <Failure error={found.error} retry={found.reload} />
  }
  return <Shown key={id} device={found.value} reload={found.reload} />
}

const Unknown = () => (
  <Empty title="Device not found">
    <p>It was deleted, belongs to another organization now, or the link is wrong.</p>
    <a class="button" href={linkTo('devices')}>
      All devices
    </a>
  </Empty>
)

function Shown({ device: entity, reload }: { device: Entity<Device>; reload: () => void }) {
  const device = entity.value
  useTitle(device.name)
  // Changes whenever an action may have added an event or a job.
  const [round, setRound] = useState(0)
  const changed = () => {
    reload()
    setRound((before) => before + 1)
  }
  const may = (scope: Scope) => holds(device.organizationId, scope)
  const [mayTelemetry, mayFleet] = [may('telemetry:read'), may('fleet:read')]
  const latest = useResource(
    `latest ${device.id} ${mayTelemetry}`,
    async (signal) => (mayTelemetry ? readLatest(device.id, signal) : undefined),
    { everyMs: refreshMs },
  )
  const onMap = useResource(
    `on map ${device.id} ${mayFleet}`,
    async (signal) =>
      mayFleet ? (await readDeviceWithModems(device.id, { orgId: device.organizationId }, signal)).device : undefined,
    { everyMs: refreshMs },
  )
  const { modems = [] } = latest.value ?? {}
  const hasSeveralModems = modems.length > 1
  return (
    <div class="page">
      <div class="page-inner">
        <div class="page-head">
          <h1>
            <a href={linkTo('devices')}>Devices</a> / {device.name}
          </h1>
          <DeviceTools device={entity} onChanged={changed} />
        </div>
        <OpenAlertsBanner org={device.organizationId} deviceId={device.id} />
        <div class={css.columns}>
          <div class={css.now}>
            {mayTelemetry && onMap.value?.location ? (
              <section class="card panel" aria-label="Map of the last 24 hours">
                <h2>Last 24 hours</h2>
                <DeviceMap device={onMap.value} location={onMap.value.location} />
              </section>
            ) : null}
            {hasSeveralModems ? <DeviceModems deviceId={device.id} modems={modems} /> : null}
          </div>
          <div class={css.side}>
            <Facts device={device} />
            {mayFleet && !hasSeveralModems ? (
              <div class="card panel">
                <SignalNow onMap={onMap.value} isLoading={onMap.loading} withFix={false} />
              </div>
            ) : null}
            {mayTelemetry ? <HealthCard latest={latest.value} /> : null}
            <DeviceIdentity device={device} modems={modems} />
            {mayFleet ? (
              <>
                <DeviceRadio deviceId={device.id} />
                <DeviceSims deviceId={device.id} org={device.organizationId} />
              </>
            ) : null}
            <Settings device={device} />
            {may('group:read') ? <DeviceGroups device={device} /> : null}
            <DeviceTokens device={device} onChanged={changed} />
          </div>
          <div class={css.history}>
            {mayFleet ? <PlacesCard deviceId={device.id} hasSeveralModems={hasSeveralModems} /> : null}
            {mayTelemetry && latest.value ? (
              <DeviceCharts deviceId={device.id} modems={chartedModems(modems)} mayFleet={mayFleet} />
            ) : null}
            {may('job:read') ? <DeviceJobList device={device} round={round} /> : null}
            <DeviceEvents device={device} round={round} />
          </div>
        </div>
      </div>
    </div>
  )
}

/** The names of the modems, or null for all samples of a router that names none. */
function chartedModems(modems: readonly { modem: string | null }[]): (string | null)[] {
  const names = modems.flatMap(({ modem }) => modem ?? [])
  return names.length > 0 ? names : [null]
}

const HealthCard = ({ latest }: { latest: LatestTelemetry | undefined }) => (
  <div class="card panel">
    <Health system={latest?.system ?? null} connection={latest?.connection ?? null} withFirmware={false} />
    {latest && !latest.system && !latest.connection ? <p class="label">No health values reported yet.</p> : null}
  </div>
)

function Facts({ device }: { device: Device }) {
  const organization = organizations.value?.find((one) => one.id === device.organizationId)?.name
  return (
    <section class="card panel" aria-label="Facts">
      <h2>
        <StatusLabel status={device.status} />
      </h2>
      <dl class="facts">
        <Fact name="Serial">
          <code>{device.serial}</code>
        </Fact>
        <Fact name="Model">{device.model}</Fact>
        <Fact name="Firmware">{device.firmware ?? '–'}</Fact>
        <Fact name="Organization">{organization ?? '–'}</Fact>
        <Fact name="Last report">
          {device.lastSeenAt ? <span title={moment(device.lastSeenAt)}>{ago(device.lastSeenAt)}</span> : 'Never'}
        </Fact>
        <Fact name="Position">
          {device.location ? (
            <>
              <Whereabouts location={device.location} /> <span class="hint">{ago(device.location.ts)}</span>
            </>
          ) : (
            'Waiting for GPS'
          )}
        </Fact>
        <Fact name="Added">{moment(device.createdAt)}</Fact>
        <Fact name="Tags">{device.tags.length > 0 ? <Chips words={device.tags} /> : 'None'}</Fact>
      </dl>
      {device.notes === null ? null : (
        <dl>
          <dt class="label">Notes</dt>
          <dd class={css.notes}>{device.notes}</dd>
        </dl>
      )}
    </section>
  )
}

const Settings = ({ device }: { device: Device }) => (
  <>
    <DeviceProfile device={device} />
    <Variables
      org={device.organizationId}
      path={`/devices/${device.id}/variables`}
      about="None. Values for this device alone, to which config profiles refer."
    />
  </>
)

/** Where the device had no service, drove and stood in the last day. */
const PlacesCard = ({ deviceId, hasSeveralModems }: { deviceId: string; hasSeveralModems: boolean }) => (
  <div class={`card panel ${css.day}`}>
    <Outages deviceId={deviceId} hasSeveralModems={hasSeveralModems} sinceMinutes={dayMinutes} />
    <Trips deviceId={deviceId} sinceMinutes={dayMinutes} />
    <Dwells deviceId={deviceId} sinceMinutes={dayMinutes} />
  </div>
)

const dayMinutes = 1_440
