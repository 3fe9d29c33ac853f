import type { JSX } from 'preact'
import { lazyView } from '../../components/lazy-view.tsx'
import { NeedsScope } from '../../components/needs-scope.tsx'
import { homeOrganizationId, type Scope } from '../../state/session.ts'
import { linkTo, place } from '../../state/url.ts'
import { PlaceList } from '../places/place-list.tsx'
import { OrganizationPicker, WithoutOrganization } from '../shell/shell.tsx'
import { AlertChannels } from './alert-channels.tsx'
import { AlertInbox } from './alert-inbox.tsx'
import { AlertRules } from './alert-rules.tsx'

// It has a map, which the lists do without.
const PlaceDetail = lazyView(async () => (await import('../places/place-detail.tsx')).PlaceDetail)

type Section = { tab: string; label: string; scope?: Scope; Body: (props: { org: string }) => JSX.Element }

const inbox: Section = { tab: '', label: 'Inbox', Body: AlertInbox }
const sections: Section[] = [
  inbox,
  { tab: 'rules', label: 'Rules', Body: AlertRules },
  { tab: 'channels', label: 'Channels', Body: AlertChannels },
  { tab: 'places', label: 'Places', scope: 'fleet:read', Body: PlaceList },
]

/** The inbox of alerts, the rules that open them, and the places that rules and lists use. */
export function AlertsView() {
  const org = homeOrganizationId.value
  const { tab = '', place: placeId } = place.value.params
  if (!org) return <WithoutOrganization />
  if (tab === 'places' && placeId) return <PlaceDetail key={`${org} ${placeId}`} org={org} id={placeId} />
  const { Body, label, scope = 'alert:read' } = sections.find((section) => section.tab === tab) ?? inbox
  return (
    <div class="page">
      <div class="page-inner">
        <div class="page-head">
          <h1>Alerts</h1>
          <OrganizationPicker allowAll={false} />
        </div>
        <nav class="tabs" aria-label="Alerts">
          {sections.map(({ tab: name, label }) => (
            <a
              key={name}
              href={linkTo('alerts', name ? { tab: name } : {})}
              aria-current={name === tab ? 'page' : undefined}
            >
              {label}
            </a>
          ))}
        </nav>
        <NeedsScope org={org} scope={scope} title={label}>
          <Body key={org} org={org} />
        </NeedsScope>
      </div>
    </div>
  )
}
