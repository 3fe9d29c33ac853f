import { all } from '../../api/client.ts'
import type { Device } from '../../api/schemas.ts'
import { plural } from '../../components/format.ts'
import { useResource } from '../../components/resource.ts'
import { linkTo } from '../../state/url.ts'

/** The groups that the device is in, by hand or by tag. */
export function DeviceGroups({ device: { id, organizationId, tags } }: { device: Device }) {
  const groups = useResource(`groups of ${id} ${tags}`, () => all(`/orgs/${organizationId}/groups`, { deviceId: id }))
  const items = groups.value ?? []
  return (
    <section class="card panel" aria-label="Groups">
      <h2>Groups</h2>
      {groups.error ? <p class="label">{groups.error.message}</p> : null}
      {groups.value && items.length === 0 ? <p class="label">This device is in no group.</p> : null}
      <ul class="stack">
        {items.map(({ id: groupId, name, smartTags, effectiveDeviceCount }) => {
          const tag = smartTags.find((one) => tags.includes(one))
          return (
            <li key={groupId}>
              <a href={linkTo('groups', { group: groupId, org: organizationId })}>{name}</a>
              <span class="hint">
                {' '}
                {plural(effectiveDeviceCount, 'device')}, {tag ? `by the tag ${tag}` : 'added manually'}
              </span>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
