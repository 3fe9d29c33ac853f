import { nearText } from '#client/near'
import type { DeadZone } from '../../api/schemas.ts'
import { ago, duration, plural } from '../../components/format.ts'
import { Icon } from '../../components/icon.tsx'
import { MoreButton } from '../../components/pages.tsx'
import { PlanHistory } from '../../components/plan-history.tsx'
import type { Resource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { nameOfOperator, namesOf, type Operator } from '../../state/operators.ts'
import css from './map.module.css'
import type { DeadZones as DeadZoneList } from './map-data.ts'

type DeadZonesProps = {
  zones: Resource<DeadZoneList>
  /** When the history of the plan begins, if that shortens the time range. */
  historyFromMs: number | null
  operators: readonly Operator[]
  selectedId: string | null
  onSelect: (zone: DeadZone) => void
  onClose: () => void
}

/** Lists the areas without usable service (`GET /fleet/dead-zones`), longest time without service first. */
export function DeadZones({ zones, historyFromMs, operators, selectedId, onSelect, onClose }: DeadZonesProps) {
  return (
    <aside class="device-panel floating" aria-label="Dead zones">
      <header>
        <div>
          <h2>Dead zones</h2>
          <p class="label">Areas with service for less than 90 % of the time, or with a signal too weak to use</p>
          <PlanHistory fromMs={historyFromMs} />
        </div>
        <button type="button" class="button quiet icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {zones.value ? (
        <ZoneList zones={zones.value} operators={operators} selectedId={selectedId} onSelect={onSelect} />
      ) : zones.error ? (
        <Failure error={zones.error} retry={zones.reload} />
      ) : (
        <Loading label="Loading dead zones" />
      )}
    </aside>
  )
}

type ZoneListProps = { zones: DeadZoneList } & Pick<DeadZonesProps, 'operators' | 'selectedId' | 'onSelect'>

function ZoneList({ zones: { items, linked, more }, operators, selectedId, onSelect }: ZoneListProps) {
  const names = namesOf(operators)
  const nameOf = (plmn: string) => nameOfOperator(names, plmn)
  const entryOf = (zone: DeadZone, rank: number | null) => (
    <li key={zone.id}>
      <button type="button" aria-current={zone.id === selectedId} onClick={() => onSelect(zone)}>
        <span class={css.rank}>{rank ?? '…'}</span>
        <ZoneText zone={zone} nameOf={nameOf} />
      </button>
    </li>
  )
  return (
    <>
      {linked === null ? <p class="panel-note">The chosen area is no dead zone in this time range.</p> : null}
      {items.length === 0 ? (
        <p class="panel-note">No dead zones found in the measured area.</p>
      ) : (
        <ol class="ranking">
          {items.map((zone, index) => entryOf(zone, index + 1))}
          {linked ? entryOf(linked, null) : null}
        </ol>
      )}
      <MoreButton more={more} />
    </>
  )
}

const ZoneText = ({ zone, nameOf }: { zone: DeadZone; nameOf: (plmn: string) => string }) => (
  <span>
    <strong>{zone.noServiceS > 0 ? `${duration(zone.noServiceS)} without service` : 'Signal too weak'}</strong>
    {zone.near ? <span class="hint">{nearText(zone.near)}</span> : null}
    <span class="hint">
      {serviceText(zone)}, {zone.areaKm2.toFixed(1)} km², {plural(zone.devices, 'device')}, measured {ago(zone.lastAt)}
    </span>
    {zone.bestPlmn ? (
      <span class="hint">
        Best operator {nameOf(zone.bestPlmn)}, worst {zone.worstPlmn && nameOf(zone.worstPlmn)}
      </span>
    ) : null}
  </span>
)

/** A zone has too little service, a signal that is too weak in some of its cells, or both. */
function serviceText({ noServiceS, serviceRatio }: DeadZone): string {
  if (noServiceS === 0) return 'Service, but an unusable signal'
  // As the service: less than 90 % of the time makes a cell dead by itself.
  const percent = Math.floor(serviceRatio * 100 + 1e-9)
  return `Service ${percent} % of the time${percent < 90 ? '' : ', but an unusable signal'}`
}
