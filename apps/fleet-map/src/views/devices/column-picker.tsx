import { Menu } from '../../components/menu.tsx'
import { place, setParams } from '../../state/url.ts'
import { columnsIn, offeredColumns } from './device-columns.tsx'

/** Chooses the columns of the table; the address keeps them. */
export function ColumnPicker() {
  const shown = columnsIn(place.value.params.cols).map(({ key }) => key)
  const toggle = (key: string, isShown: boolean) => {
    const next = isShown ? [...shown, key] : shown.filter((one) => one !== key)
    setParams({ cols: next.join(',') }, { replace: true })
  }
  return (
    <Menu label="Columns">
      {offeredColumns()
        .filter(({ key }) => key !== 'name')
        .map(({ key, title }) => (
          <label key={key} class="choice">
            <input
              type="checkbox"
              checked={shown.includes(key)}
              onChange={(event) => toggle(key, event.currentTarget.checked)}
            />
            <span>{title}</span>
          </label>
        ))}
      <button type="button" class="button quiet small" onClick={() => setParams({ cols: null }, { replace: true })}>
        Reset
      </button>
    </Menu>
  )
}
