import type { ComponentProps } from 'preact'
import { useState } from 'preact/hooks'
import { Icon } from '../../components/icon.tsx'
import { configStateLabel, deviceStatuses, statusLabel } from '../../components/label-text.ts'
import { Menu } from '../../components/menu.tsx'
import { TagFilter } from '../../components/tag-filter.tsx'
import { canReadFleet, canReadTelemetry, homeOrganizationId } from '../../state/session.ts'
import { place, setParams } from '../../state/url.ts'
import { SavedViews } from '../shell/saved-views.tsx'
import { OrganizationPicker } from '../shell/shell.tsx'
import { ColumnPicker } from './column-picker.tsx'
import css from './devices.module.css'
import { FilterChoice } from './filter-choice.tsx'
import { type FilterChoices, namesIn, useFilterChoices } from './filter-choices.ts'
import { filterText, modemOptions, monthOptions, signalOptions, todayOptions } from './filter-words.ts'
import { bulkFilterOf, filterInAddress, filterOf, filtersInAddress, noFilter } from './list-filter.ts'

/** The search, the filters and the columns of the device list, and what is filtered. The address keeps all of it. */
export function ListFilters() {
  const { q = '', tag = '' } = place.value.params
  const org = homeOrganizationId.value
  const [isOpen, setOpen] = useState(false)
  const choices = useFilterChoices(org, [bulkFilterOf(filterInAddress())], isOpen)
  return (
    <>
      <div class={`toolbar ${css.listFilters}`}>
        <input
          class="input grow"
          type="search"
          aria-label="Search by name, serial, model or organization"
          placeholder="Name, serial, model or organization"
          value={q}
          onInput={(event) => setParams({ q: event.currentTarget.value || null }, { replace: true })}
        />
        <Choice
          param="status"
          label="Status"
          empty="Any status"
          options={deviceStatuses.map((one) => [one, statusLabel(one)])}
        />
        {canReadFleet.value ? (
          <Choice param="signal" label="Signal" empty="Any signal" options={signalOptions} />
        ) : null}
        <TagFilter
          org={org}
          value={tag}
          label="Tags, separated by commas"
          placeholder="Tags"
          onChange={(tags) => setParams({ tag: tags || null })}
        />
        <Menu
          label={
            <>
              <Icon name="filter" size={16} /> More filters
            </>
          }
          kind="fields"
          onToggle={setOpen}
        >
          <MoreFilters choices={choices} />
        </Menu>
        <div class={css.wideOnly}>
          <ColumnPicker />
        </div>
        {org && canReadFleet.value ? (
          <Menu label="Views" kind="list">
            <SavedViews org={org} />
          </Menu>
        ) : null}
        <OrganizationPicker allowAll />
      </div>
      <FilterChips choices={choices} />
    </>
  )
}

const ago = (minutes: number, label: string): [string, string] => [String(minutes), label]
const times = [ago(15, '15 min'), ago(60, '1 hour'), ago(1_440, '1 day'), ago(10_080, '1 week')]

/** The filters that are needed less often. */
function MoreFilters({ choices }: { choices: FilterChoices }) {
  return (
    <>
      {homeOrganizationId.value ? (
        <>
          <Choice isField param="group" label="Group" empty="Any group" options={choices.groups} />
          {canReadFleet.value ? (
            <>
              <Choice isField param="place" label="Place" empty="Anywhere" options={choices.places} />
              <Choice isField param="plmn" label="Operator" empty="Any operator" options={choices.operators} />
            </>
          ) : null}
          <Choice isField param="firmware" label="Firmware" empty="Any firmware" options={choices.firmware} />
        </>
      ) : (
        <p class="label">Choose an organization to filter by its groups, places, operators and firmware.</p>
      )}
      {canReadFleet.value ? (
        <>
          <Choice isField param="modems" label="Modems" empty="Any modems" options={modemOptions} />
          <NearField />
        </>
      ) : null}
      {canReadTelemetry.value ? (
        <>
          <Choice isField param="today" label="Data today" empty="Any amount" options={todayOptions} />
          <Choice isField param="month" label="Data this month" empty="Any amount" options={monthOptions} />
        </>
      ) : null}
      <Choice isField param="config" label="Config" empty="Any config" options={Object.entries(configStateLabel)} />
      <Choice isField param="seen" label="Report within" empty="Any time" options={times} />
      <Choice isField param="silent" label="No report for" empty="Any time" options={times} />
    </>
  )
}

/** Filters by a part of the name of the nearest town. */
const NearField = () => (
  <label class="field">
    <span>Near town</span>
    <input
      class="input"
      type="search"
      placeholder="Any town"
      value={place.value.params.near ?? ''}
      onInput={(event) => setParams({ near: event.currentTarget.value || null }, { replace: true })}
    />
  </label>
)

type ChoiceProps = ComponentProps<typeof FilterChoice> & {
  /** With a visible label. */
  isField?: boolean
}

const Choice = ({ isField = false, ...choice }: ChoiceProps) => (
  <FilterChoice class={isField ? 'field' : css.bare} hidesLabel={!isField} {...choice} />
)

/** What the list is filtered by; each part can be removed. */
function FilterChips({ choices }: { choices: FilterChoices }) {
  const filters = filtersInAddress()
  if (filters.length === 0) return null
  return (
    <ul class={css.filterChips} aria-label="Filtered by">
      {filters.map(([param, value]) => {
        const filter = filterOf(param, value)
        const words = filterText(filter, namesIn(choices, filter))
        return (
          <li key={param} class={css.filterChip}>
            <span>{words}</span>
            <button
              type="button"
              aria-label={`Stop filtering by ${words}`}
              title="Stop filtering by this"
              onClick={() => setParams({ [param]: null })}
            >
              <Icon name="close" size={12} />
            </button>
          </li>
        )
      })}
      {filters.length > 1 ? (
        <li>
          <button type="button" class="button quiet small" onClick={() => setParams(noFilter)}>
            Show all devices
          </button>
        </li>
      ) : null}
    </ul>
  )
}
