import { nearText } from '#client/near'
import { offsetText } from '#core/quantity-text'
import type { ListedDevice, RadioHealth } from '../../api/schemas.ts'
import { ago, dataSize, measured, moment } from '../../components/format.ts'
import { QualityLabel, StatusLabel } from '../../components/labels.tsx'
import { radioStatusText } from '../../components/radio-text.ts'
import { Chips } from '../../components/table.tsx'
import { canReadFleet, canReadTelemetry, holds, organizations } from '../../state/session.ts'
import { linkTo } from '../../state/url.ts'
import css from './devices.module.css'

/** What the table knows beside the devices: the weakest radio of each device that has one; undefined while unknown. */
export type WeakRadios = ReadonlyMap<string, RadioHealth> | undefined

type Part = 'signal' | 'near' | 'dataUse'

/** A column of the device table. `sort` is the key by which the service sorts it. */
export type DeviceColumn = {
  key: string
  title: string
  cell: (device: ListedDevice, weakRadios: WeakRadios) => preact.ComponentChildren
  sort?: string
  /** What a request must include for the column. Columns with `signal` need the scope `fleet:read`, with `dataUse` `telemetry:read`. */
  part?: Part
  /** Numbers are aligned to the right; the others have a least width, or no line breaks. */
  look?: 'name' | 'number' | 'tags' | 'unbroken'
  /** Hidden on narrow screens. */
  optional?: boolean
}

const time = (value: string | null) => (value ? <span title={moment(value)}>{ago(value)}</span> : 'Never')

/** The key of the column that needs the weak radios. */
export const signalKey = 'signal'

const modemsText = ({ count, withoutService }: NonNullable<ListedDevice['modems']>): string =>
  withoutService > 0 ? `${count}, ${withoutService} without service` : String(count)

const Soon = () => (
  <span class="label" title="The data use of this UTC day is measured within a minute.">
    soon
  </span>
)

const dataText = ({ dataUse: used, organizationId }: ListedDevice, time: 'todayBytes' | 'monthBytes') => {
  if (!used) return holds(organizationId, 'telemetry:read') ? <Soon /> : '–'
  const bytes = used[time]
  if (typeof bytes !== 'number') return '–'
  return <span title={`Measured ${ago(used.measuredAt)}`}>{dataSize(bytes)}</span>
}

const antennaText = ({ status, offsetDb }: RadioHealth): string => `${radioStatusText[status]}, ${offsetText(offsetDb)}`

/** All columns; the first is always shown. */
const deviceColumns: readonly DeviceColumn[] = [
  {
    key: 'name',
    title: 'Name',
    sort: 'name',
    look: 'name',
    cell: ({ id, name }) => (
      <a href={linkTo('device', { id })} title={name}>
        {name}
      </a>
    ),
  },
  {
    key: 'status',
    title: 'Status',
    sort: 'status',
    cell: ({ status, lastSeenAt }) => (
      <>
        <StatusLabel status={status} />
        <div class={`label ${css.narrowTime}`}>{time(lastSeenAt)}</div>
      </>
    ),
  },
  { key: 'serial', title: 'Serial', sort: 'serial', cell: ({ serial }) => <code>{serial}</code>, optional: true },
  { key: 'model', title: 'Model', sort: 'model', cell: ({ model }) => model, optional: true },
  {
    key: signalKey,
    title: 'Signal',
    sort: 'signal',
    part: 'signal',
    cell: ({ id, signal, modems }, weakRadios) => {
      const rsrp = typeof signal?.rsrpDbm === 'number' ? measured(signal.rsrpDbm, 'dBm') : null
      // Of several modems, which one is active.
      const weak = weakRadios?.get(id)
      const details = [rsrp, modems && modems.count > 1 ? signal?.modem : null].filter(Boolean).join(' · ')
      return (
        <>
          <QualityLabel quality={signal?.quality ?? null} rat={signal?.rat ?? null} />
          {details === '' ? null : <div class="label">{details}</div>}
          {weak ? <div class={css.weak}>{antennaText(weak)}</div> : null}
        </>
      )
    },
  },
  {
    key: 'operator',
    title: 'Operator',
    sort: 'operator',
    part: 'signal',
    cell: ({ signal }) => signal?.operatorName ?? signal?.plmn ?? '–',
    optional: true,
  },
  {
    key: 'modems',
    title: 'Modems',
    sort: 'modems',
    part: 'signal',
    cell: ({ modems }) => (modems && modems.count > 0 ? modemsText(modems) : '–'),
    optional: true,
  },
  { key: 'tags', title: 'Tags', look: 'tags', cell: ({ tags }) => <Chips words={tags} most={1} />, optional: true },
  { key: 'firmware', title: 'Firmware', sort: 'firmware', cell: ({ firmware }) => firmware ?? '–', optional: true },
  {
    key: 'organization',
    title: 'Organization',
    cell: ({ organizationId }) => organizations.value?.find(({ id }) => id === organizationId)?.name ?? '–',
    optional: true,
  },
  {
    key: 'profile',
    title: 'Profile',
    cell: ({ configProfile }) =>
      configProfile ? (
        <a href={linkTo('profiles', { profile: configProfile.id })}>version {configProfile.version}</a>
      ) : (
        '–'
      ),
    optional: true,
  },
  {
    key: 'position',
    title: 'Position',
    part: 'near',
    cell: ({ id, location, near }) =>
      location ? (
        <a
          title={`${location.lat.toFixed(5)}, ${location.lon.toFixed(5)}`}
          href={linkTo('map', {
            device: id,
            ...{ lon: location.lon.toFixed(4), lat: location.lat.toFixed(4), z: '13' },
          })}
        >
          {near ? nearText(near) : `${location.lat.toFixed(4)}, ${location.lon.toFixed(4)}`}
        </a>
      ) : (
        'Waiting for GPS'
      ),
    optional: true,
  },
  {
    key: 'near',
    title: 'Near',
    sort: 'near',
    part: 'near',
    cell: ({ near }) => (near ? nearText(near) : '–'),
    optional: true,
  },
  {
    key: 'dataToday',
    title: 'Data today',
    sort: 'dataToday',
    part: 'dataUse',
    look: 'number',
    cell: (device) => dataText(device, 'todayBytes'),
    optional: true,
  },
  {
    key: 'dataMonth',
    title: 'Data month',
    sort: 'dataMonth',
    part: 'dataUse',
    look: 'number',
    cell: (device) => dataText(device, 'monthBytes'),
    optional: true,
  },
  { key: 'added', title: 'Added', sort: 'createdAt', cell: ({ createdAt }) => time(createdAt), optional: true },
  {
    key: 'lastSeen',
    title: 'Last report',
    sort: 'lastSeenAt',
    look: 'unbroken',
    cell: ({ lastSeenAt }) => time(lastSeenAt),
    optional: true,
  },
]

const shownByDefault = 'name status signal operator near dataToday dataMonth tags firmware lastSeen'.split(' ')

/** The columns that the caller can read. To sort by the nearest town needs `fleet:read`, too. */
export const offeredColumns = (): DeviceColumn[] =>
  deviceColumns
    .filter(({ part }) => {
      if (part === 'dataUse') return canReadTelemetry.value
      return canReadFleet.value || part !== 'signal'
    })
    .map(({ sort, ...column }) =>
      sort === undefined || (sort === 'near' && !canReadFleet.value) ? column : { ...column, sort },
    )

/** Returns the columns that the address names, or those of a new visitor. */
export const columnsIn = (named: string | undefined): DeviceColumn[] => {
  const keys = ['name', ...(named ? named.split(',') : shownByDefault)]
  return offeredColumns().filter(({ key }) => keys.includes(key))
}

/** What requests must include for these columns. */
export const partsOf = (columns: readonly DeviceColumn[]): Part[] => [
  ...new Set(columns.flatMap(({ part }) => part ?? [])),
]
