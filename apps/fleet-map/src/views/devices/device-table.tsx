import { all } from '../../api/client.ts'
import type { ListedDevice } from '../../api/schemas.ts'
import { useResource } from '../../components/resource.ts'
import { holdsSomewhere, organizationId } from '../../state/session.ts'
import { setParams } from '../../state/url.ts'
import { type DeviceColumn, signalKey, type WeakRadios } from './device-columns.tsx'
import css from './devices.module.css'

type DeviceTableProps = {
  columns: readonly DeviceColumn[]
  devices: readonly ListedDevice[]
  sort: string
  isChosen: (id: string) => boolean
  onChoose: (ids: readonly string[], chosen: boolean) => void
}

/** The device table, with a choice for each row and sortable columns. */
export function DeviceTable({ columns, devices, sort, isChosen, onChoose }: DeviceTableProps) {
  const ids = devices.map(({ id }) => id)
  const chosen = ids.filter(isChosen).length
  const weakRadios = useWeakRadios(columns.some(({ key }) => key === signalKey))
  return (
    <div class="card table-frame">
      <table class="table">
        <caption class="visually-hidden">Devices</caption>
        <thead>
          <tr>
            <th scope="col" class={css.choose}>
              <label>
                <input
                  type="checkbox"
                  aria-label="Select all devices shown"
                  checked={chosen === ids.length}
                  ref={(box) => {
                    if (box) box.indeterminate = chosen > 0 && chosen < ids.length
                  }}
                  onChange={(event) => onChoose(ids, event.currentTarget.checked)}
                />
              </label>
            </th>
            {columns.map((column) => (
              <Heading key={column.key} column={column} sort={sort} />
            ))}
          </tr>
        </thead>
        <tbody>
          {devices.map((device) => (
            <tr key={device.id} data-chosen={isChosen(device.id) || undefined}>
              <td class={css.choose}>
                <label>
                  <input
                    type="checkbox"
                    aria-label={`Select ${device.name}`}
                    checked={isChosen(device.id)}
                    onChange={(event) => onChoose([device.id], event.currentTarget.checked)}
                  />
                </label>
              </td>
              {columns.map(({ key, cell, ...column }) => (
                <td key={key} class={lookOf(column)}>
                  {cell(device, weakRadios)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

const radiosEveryMs = 60_000

/** Reads which devices have a weak radio. The list begins with the weakest, which stands for a device of several modems. */
function useWeakRadios(isWanted: boolean): WeakRadios {
  const orgId = organizationId.value
  const isRead = isWanted && holdsSomewhere('fleet:read')
  const { value } = useResource(
    JSON.stringify(['weak radios', orgId, isRead]),
    async () => (isRead ? all('/fleet/radio-health', { orgId, status: ['fault', 'suspect'] }) : []),
    { everyMs: isRead ? radiosEveryMs : 0 },
  )
  return value && new Map(value.toReversed().map((radio) => [radio.deviceId, radio]))
}

const looks = { name: css.name, number: css.number, tags: css.tags, unbroken: css.unbroken }

const lookOf = ({ optional, look }: Pick<DeviceColumn, 'optional' | 'look'>): string =>
  [optional ? 'optional' : '', look ? looks[look] : ''].filter(Boolean).join(' ')

/** Sorts by the column: first ascending, then descending, then newest first again. */
function Heading({ column, sort }: { column: DeviceColumn; sort: string }) {
  const { title, sort: key } = column
  const look = lookOf(column)
  if (key === undefined)
    return (
      <th scope="col" class={look}>
        {title}
      </th>
    )
  const direction = sort === key ? 'ascending' : sort === `-${key}` ? 'descending' : undefined
  const next = direction === undefined ? key : direction === 'ascending' ? `-${key}` : null
  return (
    <th scope="col" class={look} aria-sort={direction ?? 'none'}>
      <button type="button" class={css.sort} onClick={() => setParams({ sort: next })}>
        {title}
        <span aria-hidden="true">{direction === 'ascending' ? '▲' : direction === 'descending' ? '▼' : ''}</span>
      </button>
    </th>
  )
}
