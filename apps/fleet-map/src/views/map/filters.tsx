import { useEffect, useState } from 'preact/hooks'
import { all, get } from '../../api/client.ts'
import { count, plural } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { deviceStatuses, statusLabel } from '../../components/label-text.ts'
import { useResource } from '../../components/resource.ts'
import { TagFilter } from '../../components/tag-filter.tsx'
import type { Bounds } from '../../map/surface.ts'
import { labelOperators } from '../../state/operators.ts'
import { holds, homeOrganizationId, organizationId, organizations } from '../../state/session.ts'
import { goTo, linkTo, place, setParams } from '../../state/url.ts'
import { FilterChoice } from '../devices/filter-choice.tsx'
import { ratLabel, signalOptions } from '../devices/filter-words.ts'
import { SavedViews } from '../shell/saved-views.tsx'
import { OrganizationPicker } from '../shell/shell.tsx'
import type { Hit, Overview, SearchResult } from './fleet-data.ts'
import css from './map.module.css'
import { showsPlaces } from './map-places.ts'
import { SearchHits } from './search-hits.tsx'
import { TimeRangeFields } from './time-range-fields.tsx'

const rats = ['nr-sa', 'nr-nsa', 'lte', 'lte-m', 'nb-iot', 'hspa', 'umts', 'gsm', 'none']

type FiltersProps = {
  overview: Overview
  found: SearchResult | undefined
  /** The number of places that the map can show. */
  places?: number
  /** The part of the world that the map shows. */
  box: () => Bounds | undefined
  /** Shows a device that the search found; without it, the hits are not listed. */
  onHit?: ((hit: Hit) => void) | undefined
}

/** The filters of the map. Their values are kept in the address. */
export function Filters({ overview, found, places = 0, box, onHit }: FiltersProps) {
  const { devices: total, operators, hasCoverage } = overview
  const [open, setOpen] = useState(false)
  const { params } = place.value
  const org = homeOrganizationId.value
  // On a phone, open filters cover what the reader opened from them.
  const opened = [params.device, params.panel, params.place, params.cell].join()
  useEffect(() => setOpen(false), [opened])
  return (
    <aside class={`${css.mapFilters} floating`} data-open={open} aria-label="Filters">
      <div class={css.mapFiltersHead}>
        <DeviceCount overview={overview} shown={found?.hits.length ?? total} />
        <button
          type="button"
          class={`button quiet icon ${css.narrowOnly}`}
          aria-expanded={open}
          aria-label={open ? 'Hide filters' : 'Show filters'}
          onClick={() => setOpen(!open)}
        >
          <Icon name="filter" />
        </button>
      </div>
      <SearchField found={found} onHit={onHit} />
      <WithoutPosition shown={total} />
      {found && onHit ? <SearchHits found={found} selectedId={params.device ?? null} onSelect={onHit} /> : null}
      <div class={css.optional}>
        <OrganizationPicker allowAll />
        <GroupField org={org} />
        <div class="pair">
          <FilterChoice param="status" label="Status" options={deviceStatuses.map((one) => [one, statusLabel(one)])} />
          <FilterChoice param="rat" label="Radio technology" options={rats.map((rat) => [rat, ratLabel(rat)])} />
        </div>
        <div class="pair">
          <FilterChoice
            param="plmn"
            label="Operator"
            options={labelOperators(operators).map(({ plmn, label }) => [plmn, label])}
          />
          <div class="field">
            <span>Tag</span>
            <TagFilter
              label="Tag"
              org={org}
              value={params.tag ?? ''}
              placeholder="Any"
              onChange={(tags) => setParams({ tag: tags || null })}
            />
          </div>
        </div>
        <FilterChoice param="signal" label="Signal" options={signalOptions} />
        <TimeRangeFields />
        <MetricField />
        {places > 0 ? <PlacesSwitch places={places} /> : null}
        {hasCoverage ? null : <p class="label">Your plan does not include coverage.</p>}
        <div class="pair">
          <PanelButton panel="dead-zones" label="Dead zones" />
          <PanelButton panel="route" label="Route forecast" />
        </div>
        <SavedViews org={org} />
        <TableButton box={box} />
      </div>
    </aside>
  )
}

function DeviceCount({ overview: { devices: total, phase, isKnown }, shown }: { overview: Overview; shown: number }) {
  return (
    <p class={css.mapCount} aria-live="polite">
      {!isKnown ? (
        'Loading devices …'
      ) : (
        <>
          <strong>{count(shown)}</strong>
          {shown !== total ? `of ${plural(total, 'device')}` : shown === 1 ? 'device on the map' : 'devices on the map'}
        </>
      )}
      {phase === 'stale' ? <span style={{ color: 'var(--warn)' }}>· Reconnecting</span> : null}
    </p>
  )
}

/** Searches devices. Enter shows the first hit, the down arrow goes to the list of hits. */
const SearchField = ({ found, onHit }: Pick<FiltersProps, 'found' | 'onHit'>) => (
  <input
    class="input"
    type="search"
    placeholder="Find a device by name"
    aria-label="Find a device by name"
    value={place.value.params.q ?? ''}
    onInput={(event) => setParams({ q: event.currentTarget.value || null }, { replace: true })}
    onKeyDown={(event) => {
      const first = found?.hits[0]
      if (event.key === 'Enter' && first) onHit?.(first)
      if (event.key === 'ArrowDown') document.querySelector<HTMLElement>(`.${css.hits} button`)?.focus()
    }}
  />
)

function GroupField({ org }: { org: string }) {
  const mayRead = org !== '' && holds(org, 'group:read')
  const groups = useResource(`groups ${org} ${mayRead}`, async () => (mayRead ? all(`/orgs/${org}/groups`) : []))
  const options = (groups.value ?? []).map(({ id, name, effectiveDeviceCount }): [string, string] => [
    id,
    `${name} (${count(effectiveDeviceCount)})`,
  ])
  return (
    <FilterChoice
      param="group"
      label="Group"
      options={options}
      empty={org ? 'All devices' : 'Choose an organization first'}
    />
  )
}

const metrics = [
  ['', 'RSRP'],
  ['sinr', 'SINR'],
  ['service', 'Service'],
  ['off', 'Off'],
] as const

function MetricField() {
  // As the map reads it.
  const shown = metrics.find(([metric]) => metric === place.value.params.metric)?.[0] ?? ''
  return (
    <fieldset class="field plain">
      <legend class="label">Coverage</legend>
      <div class="segmented">
        {metrics.map(([metric, label]) => (
          <button
            key={metric}
            type="button"
            aria-pressed={metric === shown}
            onClick={() => setParams({ metric: metric || null })}
          >
            {label}
          </button>
        ))}
      </div>
    </fieldset>
  )
}

/** The filters that the list of devices has, too, and the view, to which the list leads back. */
const kept = ['org', 'q', 'status', 'tag', 'group', 'signal', 'rat', 'plmn', 'lon', 'lat', 'z', 'window']
const boxDigits = 4

/** Lists the devices in the view of the map. */
const TableButton = ({ box }: { box: () => Bounds | undefined }) => (
  <button
    type="button"
    class="button small"
    onClick={() => {
      const bounds = box()
      goTo('devices', bounds ? { bbox: boxText(bounds) } : {}, kept)
    }}
  >
    <Icon name="table" size={14} /> Show table
  </button>
)

/** A view of the whole world filters nothing. */
function boxText([west, south, east, north]: Bounds): string {
  if (east - west >= 360) return ''
  const within = (lon: number) => ((((lon + 180) % 360) + 360) % 360) - 180
  const clamped = (lat: number) => Math.min(90, Math.max(-90, lat))
  return [within(west), clamped(south), within(east), clamped(north)].map((one) => one.toFixed(boxDigits)).join(',')
}

const filterNames = ['group', 'status', 'signal', 'rat', 'plmn', 'tag', 'q']

/** Mentions the devices that the map cannot show, while no filter hides others. */
function WithoutPosition({ shown }: { shown: number }) {
  const org = organizationId.value || (organizations.value?.length === 1 ? homeOrganizationId.value : '')
  const { params } = place.value
  const isFiltered = filterNames.some((name) => params[name])
  const mayRead = org !== '' && holds(org, 'org:read')
  const usage = useResource(
    `usage ${org} ${mayRead}`,
    async (signal) => (mayRead ? get(`/orgs/${org}/usage`, { signal }) : undefined),
    { everyMs: 60_000 },
  )
  const missing = (usage.value?.devices.used ?? 0) - shown
  if (isFiltered || missing <= 0 || shown === 0) return null
  return (
    <p class="label">
      <a href={linkTo('devices')}>
        {count(missing)} {missing === 1 ? 'device has' : 'devices have'} no position
      </a>{' '}
      in this time range
    </p>
  )
}

/** Shows or hides the places on the map. */
function PlacesSwitch({ places }: { places: number }) {
  const isOn = showsPlaces(place.value.params)
  return (
    <label class="choice">
      <input type="checkbox" checked={isOn} onChange={() => setParams({ places: isOn ? 'off' : null })} />
      Places ({count(places)})
    </label>
  )
}

/** Opens or closes a panel of the map. */
function PanelButton({ panel, label }: { panel: string; label: string }) {
  const isOpen = place.value.params.panel === panel
  return (
    <button
      type="button"
      class="button small"
      aria-pressed={isOpen}
      onClick={() =>
        setParams({ panel: isOpen ? null : panel, device: null, cell: null, place: null, zone: null, as: null })
      }
    >
      {label}
    </button>
  )
}
