import { type Role, roleLabel } from './role-text.ts'

const meaning: Record<Role, string> = {
  viewer: 'reads devices, jobs and the map',
  operator: 'also changes devices and runs jobs',
  admin: 'everything in this organization',
}

const roles: readonly Role[] = ['viewer', 'operator', 'admin']

/** Chooses a role; the field is named `role`. */
export const RoleField = ({ selected = 'viewer' }: { selected?: Role }) => (
  <label class="field">
    <span>Role</span>
    <select class="input" name="role">
      {roles.map((role) => (
        <option key={role} value={role} selected={role === selected}>
          {roleLabel[role]}: {meaning[role]}
        </option>
      ))}
    </select>
  </label>
)
