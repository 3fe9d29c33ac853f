import { all, get } from '../../api/client.ts'
import { kindLabel } from '../../components/label-text.ts'
import { holds, organizations } from '../../state/session.ts'
import { linkTo } from '../../state/url.ts'
import { helpPages } from '../help/help-list.ts'
import { shownSections } from '../settings/sections.ts'
import type { SearchEntry } from './search-match.ts'
import { views } from './views.ts'

const mostDevices = 6

/** What needs no request: views, settings, actions and organizations. */
export function knownEntries(org: string): SearchEntry[] {
  const actions: (SearchEntry | false)[] = [
    holds(org, 'device:create') && { kind: 'Action', label: 'Connect a router', href: linkTo('connect') },
    holds(org, 'job:create') && {
      ...{ kind: 'Action', label: 'New job', hint: 'Reboot, firmware, config' },
      href: linkTo('jobs', { new: 'job' }),
    },
    holds(org, 'place:write') && {
      ...{ kind: 'Action', label: 'New place' },
      href: linkTo('alerts', { tab: 'places', place: 'new' }),
    },
    holds(org, 'key:manage') && {
      ...{ kind: 'Action', label: 'Invite a person' },
      href: linkTo('settings', { section: 'people' }),
    },
    { kind: 'Action', label: 'Forecast a route', href: linkTo('map', { panel: 'route' }) },
    { kind: 'Action', label: 'Dead zones', hint: 'Without service', href: linkTo('map', { panel: 'dead-zones' }) },
  ]
  return [
    ...views.map(({ view, label }) => ({ kind: 'View', label, href: linkTo(view) })),
    ...actions.filter((entry) => entry !== false),
    ...shownSections().map(({ id, label }) => ({
      ...{ kind: 'Settings', label },
      href: linkTo('settings', { section: id }),
    })),
    ...helpPages.map(([page, title]) => ({ kind: 'Help', label: title, href: linkTo('help', { page }) })),
    ...(organizations.value ?? []).map(({ id, name }) => ({
      ...{ kind: 'Organization', label: name },
      href: linkTo('overview', { org: id }),
    })),
  ]
}

/** The groups, places, profiles and newest batches of jobs of an organization, as far as the caller can read them. */
export async function organizationEntries(org: string): Promise<SearchEntry[]> {
  if (org === '') return []
  const ofOrganization = `/orgs/${org}` as const
  const [groups, places, profiles, batches] = await Promise.allSettled([
    holds(org, 'group:read') ? all(`${ofOrganization}/groups`) : [],
    holds(org, 'fleet:read') ? all(`${ofOrganization}/places`) : [],
    holds(org, 'config:read') ? all(`${ofOrganization}/configs`) : [],
    holds(org, 'job:read') ? get(`${ofOrganization}/job-batches`, { query: { limit: 100 } }) : { items: [] },
  ])
  return [
    ...itemsOf(groups).map(({ id, name }) => ({ kind: 'Group', label: name, href: linkTo('groups', { group: id }) })),
    ...itemsOf(places).map(({ id, name }) => ({
      ...{ kind: 'Place', label: name },
      href: linkTo('map', { place: id, org }),
    })),
    ...itemsOf(profiles).map(({ id, name }) => ({
      ...{ kind: 'Profile', label: name },
      href: linkTo('profiles', { profile: id }),
    })),
    ...(batches.status === 'fulfilled' ? batches.value.items : []).map(({ id, kind, targetName, createdAt }) => ({
      ...{ kind: 'Jobs', label: `${kindLabel[kind] ?? kind}${targetName ? `: ${targetName}` : ''}` },
      ...{ hint: createdAt.slice(0, 10), href: linkTo('jobs', { batch: id }) },
    })),
  ]
}

const itemsOf = <Item>(result: PromiseSettledResult<Item[]>): Item[] =>
  result.status === 'fulfilled' ? result.value : []

/** The devices with the query in their name, serial or model. */
export async function deviceEntries(org: string, query: string, signal: AbortSignal): Promise<SearchEntry[]> {
  const filter = org === '' ? {} : { orgId: org }
  const { items } = await get('/devices', { signal, query: { ...filter, q: query, limit: mostDevices } })
  return items.map(({ id, name, serial }) => ({
    ...{ kind: 'Device', label: name, hint: serial },
    href: linkTo('device', { id }),
  }))
}
