import { useEffect } from 'preact/hooks'
import { get } from '../../api/client.ts'
import type { Device, DeviceEvent } from '../../api/schemas.ts'
import { ago, moment } from '../../components/format.ts'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { countOfDay } from '../../state/day-count.ts'
import { holds } from '../../state/session.ts'
import { place, setParams } from '../../state/url.ts'
import css from './device.module.css'
import { causeText, type EventKind, eventText, kindLooks } from './event-text.ts'

const kinds = Object.keys(kindLooks) as EventKind[]
/** What is listed until the reader chooses kinds: a router on the road changes its cell every few minutes. */
const quietKinds = kinds.filter((kind) => kind !== 'handover' && kind !== 'report')

/** What happened to the device, newest first. The kinds in the address are shown. */
export function DeviceEvents({ device, round }: { device: Device; round: number }) {
  const chosen = kinds.filter((kind) => place.value.params.kinds?.split(',').includes(kind))
  const list = usePages(`/devices/${device.id}/events`, { kind: chosen.length > 0 ? chosen : quietKinds, limit: 50 })
  const handovers = useHandovers(device)
  useEffect(() => list.reload(), [round, device.status])
  const toggle = (kind: EventKind) => {
    const next = chosen.includes(kind) ? chosen.filter((one) => one !== kind) : [...chosen, kind]
    setParams({ kinds: next.join(',') || null }, { replace: true })
  }
  return (
    <section class="stack" aria-label="Events">
      <div class="toolbar">
        <h2 class="grow">Events</h2>
        <button type="button" class="button small" onClick={list.reload}>
          Refresh
        </button>
      </div>
      <fieldset class="plain chips" aria-label="Kinds of events">
        <button
          type="button"
          class="chip"
          aria-pressed={chosen.length === 0}
          onClick={() => setParams({ kinds: null })}
        >
          Main events
        </button>
        {kinds.map((kind) => (
          <button
            key={kind}
            type="button"
            class="chip"
            aria-pressed={chosen.includes(kind)}
            onClick={() => toggle(kind)}
          >
            <span class="swatch" style={{ background: kindLooks[kind].color }} />
            {kindLooks[kind].label}
            {kind === 'handover' && handovers ? <span class={css.count}>{handovers} in 24 h</span> : null}
          </button>
        ))}
      </fieldset>
      {list.error ? <Failure error={list.error} retry={list.reload} /> : null}
      {list.loading && list.items.length === 0 ? <Loading /> : null}
      {!list.loading && !list.error && list.items.length === 0 ? (
        <p class="label">{list.more ? 'Nothing happened in the last weeks.' : 'No events.'}</p>
      ) : null}
      {list.items.length > 0 ? (
        <ol class={`card ${css.events}`}>
          {list.items.map((event) => (
            <EventRow key={event.id} event={event} />
          ))}
        </ol>
      ) : null}
      <MoreButton more={list.more} />
    </section>
  )
}

const mostCounted = 200

/** The number of handovers in the last day, as a text; undefined while it is unknown or there are none. */
function useHandovers({ id, organizationId }: Device): string | undefined {
  const mayRead = holds(organizationId, 'telemetry:read')
  return useResource(`handovers ${id} ${mayRead}`, async (signal) => {
    if (!mayRead) return undefined
    const query = { kind: ['handover' as const], limit: mostCounted }
    const { items, nextCursor } = await get(`/devices/${id}/events`, { signal, query })
    return countOfDay(items, { hasOlder: nextCursor !== null, nowMs: Date.now() })
  }).value
}

function EventRow({ event }: { event: DeviceEvent }) {
  const { title, more } = eventText(event)
  return (
    <li>
      <time dateTime={event.at} title={ago(event.at)}>
        {moment(event.at)}
      </time>
      <span class="swatch" style={{ background: kindLooks[event.kind].color }} />
      <span class="stacked">
        <strong>{title}</strong>
        {more ? <span class="hint">{more}</span> : null}
      </span>
      <span class="hint">{causeText(event)}</span>
    </li>
  )
}
