import type { ApiKey } from '../../api/schemas.ts'

export type Role = NonNullable<ApiKey['role']>

export const roleLabel: Record<Role, string> = { viewer: 'Viewer', operator: 'Operator', admin: 'Administrator' }
