import type { ComponentType } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useTitle } from '../../components/title.ts'
import { caller, holds, homeOrganizationId, type Scope } from '../../state/session.ts'
import { linkTo, place } from '../../state/url.ts'
import { WithoutOrganization } from '../shell/shell.tsx'
import { ApiKeys } from './api-keys.tsx'
import { AuditLog } from './audit-log.tsx'
import { EnrollmentKeys } from './enrollment-keys.tsx'
import { MapBackgroundSettings } from './map-background-settings.tsx'
import { OrganizationSettings } from './organization.tsx'
import { Organizations } from './organizations.tsx'
import { People } from './people.tsx'
import { Sessions } from './sessions.tsx'
import css from './settings.module.css'
import { Webhooks } from './webhooks.tsx'

type Section = {
  id: string
  label: string
  /** Sections of an organization get its id; the others get ''. */
  View: ComponentType<{ org: string }>
  /** The scope in the organization that the section needs. */
  scope?: Scope
  /** 'person': for everybody. 'platform': for platform administrators. */
  of?: 'person' | 'platform'
}

const sections: Section[] = [
  { id: 'organization', label: 'Plan and usage', View: OrganizationSettings, scope: 'org:read' },
  { id: 'people', label: 'People', View: People, scope: 'key:manage' },
  { id: 'api-keys', label: 'API keys', View: ApiKeys, scope: 'key:manage' },
  { id: 'enrollment-keys', label: 'Enrollment keys', View: EnrollmentKeys, scope: 'org:write' },
  { id: 'webhooks', label: 'Webhooks', View: Webhooks, scope: 'webhook:manage' },
  { id: 'audit', label: 'Audit log', View: AuditLog, scope: 'audit:read' },
  { id: 'sessions', label: 'Sign-in sessions', View: Sessions, of: 'person' },
  { id: 'organizations', label: 'Organizations', View: Organizations, of: 'platform' },
  { id: 'map', label: 'Map background', View: MapBackgroundSettings, of: 'platform' },
]

/** The settings of an organization, of the caller and of the installation. */
export function SettingsView() {
  const org = homeOrganizationId.value
  const shown = sections.filter(({ of }) => of !== 'platform' || caller.value?.platform)
  const chosen = shown.find(({ id }) => id === place.value.params.section) ?? shown[0]
  const nav = useRef<HTMLElement>(null)
  useTitle(chosen?.label ?? '')
  // On a phone, the sections are a row that scrolls.
  useEffect(
    () => nav.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'center' }),
    [chosen?.id],
  )
  if (!chosen) return null
  return (
    <div class="page">
      <div class={`page-inner ${css.settings}`}>
        <nav class={css.settingsNav} aria-label="Settings" ref={nav}>
          {shown.map(({ id, label }) => (
            <a key={id} href={linkTo('settings', { section: id })} aria-current={id === chosen.id ? 'page' : undefined}>
              {label}
            </a>
          ))}
        </nav>
        <div class={css.settingsContent}>
          <Content section={chosen} org={org} />
        </div>
      </div>
    </div>
  )
}

function Content({ section: { id, label, View, scope, of }, org }: { section: Section; org: string }) {
  if (of) return <View key={id} org="" />
  if (!org) return <WithoutOrganization />
  if (caller.value && scope && !holds(org, scope))
    return (
      <>
        <h1>{label}</h1>
        <div class="state">
          <strong>Permission denied</strong>
          <p>
            You need the scope <code>{scope}</code> in this organization. An administrator of the organization can grant
            it.
          </p>
        </div>
      </>
    )
  return <View key={`${id} ${org}`} org={org} />
}
