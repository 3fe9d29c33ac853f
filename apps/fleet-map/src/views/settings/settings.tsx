import type { ComponentType } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { NeedsScope } from '../../components/needs-scope.tsx'
import { useTitle } from '../../components/title.ts'
import { homeOrganizationId } from '../../state/session.ts'
import { linkTo, place } from '../../state/url.ts'
import { WithoutOrganization } from '../shell/shell.tsx'
import { ApiKeys } from './api-keys.tsx'
import { AuditLog } from './audit-log.tsx'
import { EnrollmentKeys } from './enrollment-keys.tsx'
import { MapBackgroundSettings } from './map-background-settings.tsx'
import { OrganizationSettings } from './organization.tsx'
import { Organizations } from './organizations.tsx'
import { People } from './people.tsx'
import { type SectionId, shownSections } from './sections.ts'
import { Sessions } from './sessions.tsx'
import css from './settings.module.css'
import { Webhooks } from './webhooks.tsx'

/** Sections of an organization get its id; the others get ''. */
const contents: Record<SectionId, ComponentType<{ org: string }>> = {
  organization: OrganizationSettings,
  people: People,
  'api-keys': ApiKeys,
  'enrollment-keys': EnrollmentKeys,
  webhooks: Webhooks,
  audit: AuditLog,
  sessions: Sessions,
  organizations: Organizations,
  map: MapBackgroundSettings,
}

/** The settings of an organization, of the caller and of the installation. */
export function SettingsView() {
  const org = homeOrganizationId.value
  const shown = shownSections()
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
          <p class="hint">Version {productVersion}</p>
        </div>
      </div>
    </div>
  )
}

type ShownSection = ReturnType<typeof shownSections>[number]

function Content({ section: { id, label, scope, of }, org }: { section: ShownSection; org: string }) {
  const View = contents[id]
  if (of) return <View key={id} org="" />
  if (!org) return <WithoutOrganization />
  const view = <View key={`${id} ${org}`} org={org} />
  if (!scope) return view
  return (
    <NeedsScope org={org} scope={scope} title={label}>
      {view}
    </NeedsScope>
  )
}
