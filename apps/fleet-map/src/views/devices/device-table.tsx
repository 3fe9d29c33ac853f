import type { Device } from '../../api/schemas.ts'
import { setParams } from '../../state/url.ts'
import type { DeviceColumn } from './device-columns.tsx'
import css from './devices.module.css'

type DeviceTableProps = {
  columns: readonly DeviceColumn[]
  devices: readonly Device[]
  sort: string
  isChosen: (id: string) => boolean
  onChoose: (ids: readonly string[], chosen: boolean) => void
}

/** The device table, with a choice for each row and sortable columns. */
export function DeviceTable({ columns, devices, sort, isChosen, onChoose }: DeviceTableProps) {
  const ids = devices.map(({ id }) => id)
  const chosen = ids.filter(isChosen).length
  return (
    <div class="card table-frame">
      <table class="table">
        <caption class="visually-hidden">Devices</caption>
        <thead>
          <tr>
            <th scope="col" class={css.choose}>
              <input
                type="checkbox"
                aria-label="Select all devices shown"
                checked={chosen === ids.length}
                ref={(box) => {
                  if (box) box.indeterminate = chosen > 0 && chosen < ids.length
                }}
                onChange={(event) => onChoose(ids, event.currentTarget.checked)}
              />
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
                <input
                  type="checkbox"
                  aria-label={`Select ${device.name}`}
                  checked={isChosen(device.id)}
                  onChange={(event) => onChoose([device.id], event.currentTarget.checked)}
                />
              </td>
              {columns.map(({ key, optional, cell }) => (
                <td key={key} class={optional ? 'optional' : ''}>
                  {cell(device)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** Sorts by the column: first ascending, then descending, then newest first again. */
function Heading({ column, sort }: { column: DeviceColumn; sort: string }) {
  const { title, optional, sort: key } = column
  const look = optional ? 'optional' : ''
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
