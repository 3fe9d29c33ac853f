import { get, isNotInPlan } from '../../api/client.ts'
import { type Option, withChosen } from '../../components/chosen-option.ts'
import { NeedsScope } from '../../components/needs-scope.tsx'
import { useResource } from '../../components/resource.ts'
import { NotInPlan } from '../../components/states.tsx'
import { TagFilter } from '../../components/tag-filter.tsx'
import { nameOfOperator, namesOf } from '../../state/operators.ts'
import { homeOrganizationId } from '../../state/session.ts'
import { readCounts } from '../../state/tags.ts'
import { windowMinutes, windowParam, windowText } from '../../state/time-window.ts'
import { linkTo, place, setParams } from '../../state/url.ts'
import { OpenAlertsBanner } from '../alerts/open-alerts.tsx'
import { OrganizationPicker, WithoutOrganization } from '../shell/shell.tsx'
import { DeadZoneCard } from './dead-zone-card.tsx'
import { FirmwareCard } from './firmware-card.tsx'
import { OnlineCard } from './online-card.tsx'
import { OperatorCard } from './operator-card.tsx'
import css from './overview.module.css'
import { RadioCard } from './radio-card.tsx'
import { SignalCard } from './signal-card.tsx'
import { SimCard } from './sim-card.tsx'

const countsEveryMs = 15_000
const signalEveryMs = 60_000
const shownZones = 6
const shownRadios = 6

const windows = [1_440, 10_080, 43_200, 129_600].map((minutes): Option => [windowParam(minutes), windowText(minutes)])

/** The state of an organization's fleet on one page. The address keeps organization, time range and tags. */
export function OverviewView() {
  const org = homeOrganizationId.value
  if (!org) return <WithoutOrganization />
  return (
    <NeedsScope org={org} scope="fleet:read" title="Overview">
      <Overview org={org} />
    </NeedsScope>
  )
}

function Overview({ org }: { org: string }) {
  const { tag = '' } = place.value.params
  const minutes = windowMinutes(place.value.params.window)
  const tags = tag ? tag.split(',') : []
  const query = { orgId: org, tag: tags, sinceMinutes: minutes }
  const key = JSON.stringify(query)
  const everyMinute = { everyMs: signalEveryMs }
  const counts = useResource(
    JSON.stringify(['counts', org, tags]),
    (signal) => readCounts(org, { tag: tags }, signal),
    { everyMs: countsEveryMs },
  )
  const trend = useResource(`trend ${key}`, (signal) => get('/fleet/signal-trend', { signal, query }), everyMinute)
  const zones = useResource(
    `zones ${key}`,
    (signal) => get('/fleet/dead-zones', { signal, query: { ...query, limit: shownZones } }),
    everyMinute,
  )
  const radios = useResource(
    JSON.stringify(['radios', org, tags]),
    (signal) =>
      get('/fleet/radio-health', {
        signal,
        query: { orgId: org, tag: tags, status: ['fault', 'suspect'], limit: shownRadios },
      }),
    everyMinute,
  )
  const tiles = useResource(
    `tiles ${key}`,
    (signal) => get('/fleet/tiles.json', { signal, query: { ...query, layers: ['devices'] } }),
    everyMinute,
  )
  const names = namesOf(tiles.value?.fleet?.operators ?? [])
  const nameOf = (plmn: string) => nameOfOperator(names, plmn)
  return (
    <div class="page">
      <div class={`page-inner ${css.overview}`}>
        <div class="page-head">
          <h1>Overview</h1>
          <OrganizationPicker allowAll={false} />
          <div class={css.overviewTags}>
            <TagFilter
              label="Tags"
              org={org}
              value={tag}
              placeholder="All tags"
              onChange={(next) => setParams({ tag: next || null })}
            />
          </div>
          <WindowChoice minutes={minutes} />
          <a class="button" href={linkTo('map', {}, ['org', 'tag', 'window'])}>
            Show on the map
          </a>
        </div>
        <OpenAlertsBanner org={org} />
        <div class={css.overviewGrid}>
          <OnlineCard counts={counts} />
          <FirmwareCard counts={counts} />
          {trend.error && isNotInPlan(trend.error) ? (
            <section class={`card ${css.overviewCard} ${css.signal}`} aria-label="Signal">
              <NotInPlan error={trend.error} />
            </section>
          ) : (
            <>
              <SignalCard trend={trend} />
              <OperatorCard trend={trend} nameOf={nameOf} />
              <DeadZoneCard zones={zones} nameOf={nameOf} />
              <RadioCard radios={radios} />
              <SimCard org={org} tags={tags} nameOf={nameOf} />
            </>
          )}
        </div>
      </div>
    </div>
  )
}

const WindowChoice = ({ minutes }: { minutes: number }) => (
  <fieldset class="segmented plain" aria-label="Time range">
    {withChosen(windows, windowParam(minutes), () => windowText(minutes)).map(([window, label]) => (
      <button
        key={label}
        type="button"
        aria-pressed={window === windowParam(minutes)}
        onClick={() => setParams({ window: window || null })}
      >
        {label}
      </button>
    ))}
  </fieldset>
)
