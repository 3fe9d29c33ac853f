import { caller, type Scope } from '../../state/session.ts'

export type SettingsSection = {
  id: string
  label: string
  /** The scope in the organization that the section needs. */
  scope?: Scope
  /** 'person': for everybody. 'platform': for platform administrators. */
  of?: 'person' | 'platform'
}

const sections = [
  { id: 'organization', label: 'Plan and usage', scope: 'org:read' },
  { id: 'people', label: 'People', scope: 'key:manage' },
  { id: 'api-keys', label: 'API keys', scope: 'key:manage' },
  { id: 'enrollment-keys', label: 'Enrollment keys', scope: 'org:write' },
  { id: 'webhooks', label: 'Webhooks', scope: 'webhook:manage' },
  { id: 'audit', label: 'Audit log', scope: 'audit:read' },
  { id: 'sessions', label: 'Sign-in sessions', of: 'person' },
  { id: 'organizations', label: 'Organizations', of: 'platform' },
  { id: 'map', label: 'Map background', of: 'platform' },
] as const satisfies SettingsSection[]

export type SectionId = (typeof sections)[number]['id']

/** The sections of the settings that the caller can choose. */
export const shownSections = (): (SettingsSection & { id: SectionId })[] =>
  sections.filter((section) => !('of' in section) || section.of !== 'platform' || caller.value?.platform)
