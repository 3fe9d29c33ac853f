import { type Option, withChosen } from '../../components/chosen-option.ts'
import { nameOfOperator } from '../../state/operators.ts'
import { place, setParams } from '../../state/url.ts'
import { filterText } from './filter-words.ts'
import { type FilterParam, filterOf } from './list-filter.ts'

type FilterChoiceProps = {
  param: FilterParam
  label: string
  /** The text for no filter. */
  empty?: string
  options: readonly Option[]
  class?: string | undefined
  hidesLabel?: boolean
}

/** Chooses the value of a filter in the address. A value that is not among the options is shown in words. */
export function FilterChoice(props: FilterChoiceProps) {
  const { param, label, empty = 'Any', options, class: look = 'field', hidesLabel = false } = props
  const value = place.value.params[param] ?? ''
  const names = { plmn: nameOfOperator(new Map(), value) }
  return (
    <label class={look}>
      <span class={hidesLabel ? 'visually-hidden' : ''}>{label}</span>
      <select
        class="input"
        value={value}
        onChange={(event) => setParams({ [param]: event.currentTarget.value || null })}
      >
        <option value="">{empty}</option>
        {withChosen(options, value, () => filterText(filterOf(param, value), names) || value).map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
