import { useState } from 'preact/hooks'
import { all, call } from '../api/client.ts'
import type { Group } from '../api/types.ts'
import { count, plural } from '../components/format.ts'
import { Icon } from '../components/icon.tsx'
import { deviceStatuses, statusLabel } from '../components/labels.tsx'
import { useResource } from '../components/resource.ts'
import { TagFilter } from '../components/tag-filter.tsx'
import { labelOperators } from '../state/operators.ts'
import { homeOrganizationId, organizationId, organizations } from '../state/session.ts'
import { linkTo, place, setParams } from '../state/url.ts'
import type { Found, Hit, Overview } from './fleet-data.ts'
import { showsPlaces } from './map-places.ts'
import { SavedViews } from './saved-views.tsx'
import { SearchHits } from './search-hits.tsx'
import { OrganizationPicker } from './shell.tsx'
import { TimeRangeFields } from './time-range-fields.tsx'

const rats = ['nr-sa', 'nr-nsa', 'lte', 'lte-m', 'nb-iot', 'hspa', 'umts', 'gsm', 'none']

type FiltersProps = {
  overview: Overview
  found: Found | undefined
  /** The number of places that the map can show. */
  places?: number
  /** Shows a device that the search found; without it, the hits are not listed. */
  onHit?: (hit: Hit) => void
}

/** The filters of the map. Their values are kept in the address. */
export function Filters({ overview, found, places = 0, onHit }: FiltersProps) {
  const { devices: total, phase, operators, hasCoverage } = overview
  const shown = found?.hits.length ?? total
  const [open, setOpen] = useState(false)
  const { params } = place.value
  const asTable = params.as === 'table'
  const groupsOf = homeOrganizationId.value
  const groups = useResource(`groups ${groupsOf}`, async () => (groupsOf ? all<Group>(`/orgs/${groupsOf}/groups`) : []))
  const choice = (name: string) => ({
    value: params[name] ?? '',
    onChange: (event: { currentTarget: HTMLSelectElement }) => setParams({ [name]: event.currentTarget.value || null }),
  })
  return (
    <aside class="map-filters floating" data-open={open} aria-label="Filters">
      <div class="map-filters-head">
        <p class="map-count" aria-live="polite">
          {phase === 'loading' && total === 0 ? (
            'Loading devices …'
          ) : (
            <>
              <strong>{count(shown)}</strong>
              {shown !== total
                ? `of ${plural(total, 'device')}`
                : shown === 1
                  ? 'device on the map'
                  : 'devices on the map'}
            </>
          )}
          {phase === 'stale' ? <span style={{ color: 'var(--warn)' }}>· Reconnecting</span> : null}
        </p>
        <button
          type="button"
          class="button quiet icon narrow-only"
          aria-expanded={open}
          aria-label={open ? 'Hide filters' : 'Show filters'}
          onClick={() => setOpen(!open)}
        >
          <Icon name="filter" />
        </button>
      </div>
      <input
        class="input"
        type="search"
        placeholder="Find a device by name"
        aria-label="Find a device by name"
        value={params.q ?? ''}
        onInput={(event) => setParams({ q: event.currentTarget.value || null }, { replace: true })}
        onKeyDown={(event) => {
          const first = found?.hits[0]
          if (event.key === 'Enter' && first) onHit?.(first)
          if (event.key === 'ArrowDown') document.querySelector<HTMLElement>('.hits button')?.focus()
        }}
      />
      <WithoutPosition shown={total} />
      {found && onHit ? <SearchHits found={found} selectedId={params.device ?? null} onSelect={onHit} /> : null}
      <div class="optional">
        <OrganizationPicker allowAll />
        <label class="field">
          <span>Group</span>
          <select class="input" {...choice('group')}>
            <option value="">{groupsOf ? 'All devices' : 'Choose an organization first'}</option>
            {(groups.value ?? []).map((group) => (
              <option key={group.id} value={group.id}>
                {group.name} ({count(group.effectiveDeviceCount)})
              </option>
            ))}
          </select>
        </label>
        <div class="pair">
          <label class="field">
            <span>Status</span>
            <select class="input" {...choice('status')}>
              <option value="">Any</option>
              {deviceStatuses.map((status) => (
                <option key={status} value={status}>
                  {statusLabel(status)}
                </option>
              ))}
            </select>
          </label>
          <label class="field">
            <span>Radio technology</span>
            <select class="input" {...choice('rat')}>
              <option value="">Any</option>
              {rats.map((rat) => (
                <option key={rat} value={rat}>
                  {rat === 'none' ? 'No service' : rat.toUpperCase()}
                </option>
              ))}
            </select>
          </label>
        </div>
        <div class="pair">
          <label class="field">
            <span>Operator</span>
            <select class="input" {...choice('plmn')}>
              <option value="">Any</option>
              {labelOperators(operators).map(({ plmn, label }) => (
                <option key={plmn} value={plmn}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          <div class="field">
            <span>Tag</span>
            <TagFilter
              label="Tag"
              org={groupsOf}
              value={params.tag ?? ''}
              placeholder="Any"
              onChange={(tags) => setParams({ tag: tags || null })}
            />
          </div>
        </div>
        <TimeRangeFields />
        <fieldset class="field plain">
          <legend class="label">Coverage</legend>
          <div class="segmented">
            {(
              [
                ['', 'RSRP'],
                ['sinr', 'SINR'],
                ['service', 'Service'],
                ['off', 'Off'],
              ] as const
            ).map(([metric, label]) => (
              <button
                key={metric}
                type="button"
                aria-pressed={(params.metric ?? '') === metric}
                onClick={() => setParams({ metric: metric || null })}
              >
                {label}
              </button>
            ))}
          </div>
        </fieldset>
        {places > 0 ? <PlacesSwitch places={places} /> : null}
        {hasCoverage ? null : <p class="label">Your plan does not include coverage.</p>}
        <div class="pair">
          <PanelButton panel="dead-zones" label="Dead zones" />
          <PanelButton panel="route" label="Route forecast" />
        </div>
        <SavedViews org={groupsOf} />
        <button type="button" class="button small" onClick={() => setParams({ as: asTable ? null : 'table' })}>
          <Icon name={asTable ? 'map' : 'table'} size={14} /> {asTable ? 'Show map' : 'Show table'}
        </button>
      </div>
    </aside>
  )
}

const filterNames = ['group', 'status', 'rat', 'plmn', 'tag', 'q']

/** Mentions the devices that the map cannot show, while no filter hides others. */
function WithoutPosition({ shown }: { shown: number }) {
  const org = organizationId.value || (organizations.value?.length === 1 ? homeOrganizationId.value : '')
  const { params } = place.value
  const isFiltered = filterNames.some((name) => params[name])
  const usage = useResource(
    `usage ${org}`,
    async (signal) => (org ? call<{ devices: { used: number } }>(`/orgs/${org}/usage`, { signal }) : undefined),
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
