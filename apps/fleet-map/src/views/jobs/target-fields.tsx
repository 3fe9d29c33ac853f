import { useState } from 'preact/hooks'
import { all } from '../../api/client.ts'
import type { Group } from '../../api/schemas.ts'
import { type ChosenDevices, DevicePicker } from '../../components/device-picker.tsx'
import { count } from '../../components/format.ts'
import { useResource } from '../../components/resource.ts'
import { holds } from '../../state/session.ts'
import { readCounts } from '../../state/tags.ts'
import { place, setParams } from '../../state/url.ts'
import { useFilterTexts } from '../devices/filter-choices.ts'
import { type BulkFilter, bulkFilterOf, filterInAddress } from '../devices/list-filter.ts'

type TargetKind = 'group' | 'devices' | 'matching'

/** The devices of a new job. */
export type Target = {
  kind: TargetKind
  /** The members of a request that select the devices. */
  body: { groupId: string } | { deviceIds: string[] } | { filter: BulkFilter }
  /** The number of devices; 0 while it is unknown. */
  total: number
  groups: readonly Group[] | undefined
  group: Group | undefined
  chosen: ChosenDevices
  setChosen: (chosen: ChosenDevices) => void
}

/**
 * The devices that the address names: a group, devices by their ids, or those that match the filter of the device list. The
 * form can change them.
 */
export function useTarget(org: string): Target {
  const { target, group: groupId, device = '' } = place.value.params
  const kind: TargetKind =
    target === 'matching' || target === 'devices' ? target : device && !target ? 'devices' : 'group'
  const filter = filterInAddress()
  const mayGroups = holds(org, 'group:read')
  const groups = useResource(`groups ${org} ${mayGroups}`, async () =>
    mayGroups ? all(`/orgs/${org}/groups`) : [],
  ).value
  const matching = useResource(`matching ${kind} ${org} ${JSON.stringify(filter)}`, async (signal) =>
    kind === 'matching' ? readCounts(org, filter, signal) : undefined,
  ).value
  const [chosen, setChosen] = useState<ChosenDevices>(new Map())
  useResource(`chosen ${device}`, async () => {
    if (device) setChosen(await namesOf(device.split(',')))
  })
  const group = groups?.find(({ id }) => id === groupId)
  const part = { kind, groups, group, chosen, setChosen }
  if (kind === 'matching') return { ...part, body: { filter: bulkFilterOf(filter) }, total: matching?.total ?? 0 }
  if (kind === 'devices') return { ...part, body: { deviceIds: [...chosen.keys()] }, total: chosen.size }
  return { ...part, body: { groupId: group?.id ?? '' }, total: group?.effectiveDeviceCount ?? 0 }
}

const idsPerRequest = 100

async function namesOf(ids: readonly string[]): Promise<ChosenDevices> {
  const names = new Map<string, string>()
  for (let at = 0; at < ids.length; at += idsPerRequest) {
    const named = await all('/devices', { deviceId: ids.slice(at, at + idsPerRequest) })
    for (const { id, name } of named) names.set(id, name)
  }
  return names
}

/** Chooses the devices of a new job. */
export function TargetFields({ org, target }: { org: string; target: Target }) {
  const { kind, groups, group, chosen, setChosen, total } = target
  const filter = bulkFilterOf(filterInAddress())
  const searched = useFilterTexts(org, [filter])(filter)
  const choose = (next: TargetKind) => setParams({ target: next }, { replace: true })
  const kinds: [TargetKind, string][] = [
    ['group', 'Group'],
    ['devices', 'Devices'],
    ...(kind === 'matching' ? [['matching', 'Filter'] satisfies [TargetKind, string]] : []),
  ]
  return (
    <section class="card panel" aria-label="Target">
      <div class="segmented">
        {kinds.map(([one, label]) => (
          <button key={one} type="button" aria-pressed={one === kind} onClick={() => choose(one)}>
            {label}
          </button>
        ))}
      </div>
      {kind === 'matching' ? (
        <p>
          All {count(total)} devices {searched ? `that match: ${searched}` : 'of the organization'}
        </p>
      ) : null}
      {kind === 'devices' ? <DevicePicker org={org} chosen={chosen} onChange={setChosen} /> : null}
      {kind === 'group' ? (
        <label class="field">
          <span>Group</span>
          <select
            class="input"
            name="groupId"
            required
            data-empty="Choose a group."
            data-fault={group && total === 0 ? 'This group has no devices.' : undefined}
            value={group?.id ?? ''}
            onChange={(event) => setParams({ group: event.currentTarget.value }, { replace: true })}
          >
            <option value="">Choose a group</option>
            {(groups ?? []).map(({ id, name, effectiveDeviceCount }) => (
              <option key={id} value={id}>
                {name} ({count(effectiveDeviceCount)})
              </option>
            ))}
          </select>
        </label>
      ) : null}
      <p class="label">Disabled devices and devices of other models are skipped. The batch lists them.</p>
    </section>
  )
}
