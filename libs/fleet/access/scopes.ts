/** The scopes of a principal in an organization. `platform` is separate: it implies all scopes in all organizations. */
export const scopes = [
  'device:read',
  'device:sensitive',
  'device:create',
  'device:update',
  'device:delete',
  'device:transfer',
  'group:read',
  'group:write',
  'config:read',
  'config:write',
  'config:apply',
  'job:read',
  'job:create',
  'job:cancel',
  'telemetry:read',
  'fleet:read',
  'place:write',
  'alert:read',
  'alert:acknowledge',
  'alert:write',
  'org:read',
  'org:write',
  'key:manage',
  'audit:read',
  'webhook:manage',
] as const

export type Scope = (typeof scopes)[number]

export const roleNames = ['viewer', 'operator', 'admin'] as const
export type RoleName = (typeof roleNames)[number]

const viewer: readonly Scope[] = [
  'device:read',
  'group:read',
  'config:read',
  'job:read',
  'telemetry:read',
  'fleet:read',
  'alert:read',
  'org:read',
]

/** The scopes of each role. An operator has all scopes of a viewer, an admin has all scopes. */
export const scopesOfRole: Record<RoleName, readonly Scope[]> = {
  viewer,
  operator: [
    ...viewer,
    'device:create',
    'device:update',
    'group:write',
    'place:write',
    'alert:acknowledge',
    'alert:write',
    'config:write',
    'config:apply',
    'job:create',
    'job:cancel',
  ],
  admin: scopes,
}

/** The role with exactly these scopes; null if there is none. */
export const roleWith = (held: readonly Scope[]): RoleName | null =>
  roleNames.find((role) => new Set(scopesOfRole[role]).symmetricDifference(new Set(held)).size === 0) ?? null
