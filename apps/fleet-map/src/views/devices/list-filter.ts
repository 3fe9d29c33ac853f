import type { ConfigState, DeviceStatus } from '../../api/schemas.ts'
import { configStateLabel, statusLabel } from '../../components/labels.tsx'
import { place } from '../../state/url.ts'
import type { BulkFilter } from './bulk.ts'

/** The filter of the device list, as the address has it and as requests send it. */
export type ListFilter = {
  q: string
  status: DeviceStatus | ''
  tag: string[] | null
  placeId: string
  configState: ConfigState | ''
}

/** Returns the filter of the device list that the address has. */
export function filterInAddress(): ListFilter {
  const { q = '', status = '', tag = '', place: placeId = '', config: configState = '' } = place.value.params
  return {
    q: q.trim().length >= 2 ? q.trim() : '',
    status: status as DeviceStatus | '',
    tag: tag ? tag.split(',') : null,
    placeId,
    configState: configState as ConfigState | '',
  }
}

/** The filter as bulk requests take it. */
export const bulkFilterOf = ({ q, status, tag, placeId, configState }: ListFilter): BulkFilter => ({
  ...(q ? { q } : {}),
  ...(status ? { status } : {}),
  ...(tag ? { tag } : {}),
  ...(placeId ? { placeId } : {}),
  ...(configState ? { configState } : {}),
})

/** What the filter asks for, such as "“truck”, status Offline"; '' for all devices. */
export const filterText = ({ q, status, tag, placeId, configState }: ListFilter): string =>
  [
    q && `“${q}”`,
    status && `status ${statusLabel(status)}`,
    tag && `${tag.length === 1 ? 'tag' : 'tags'} ${tag.join(', ')}`,
    placeId && 'in a place',
    configState && `config ${configStateLabel[configState].toLowerCase()}`,
  ]
    .filter(Boolean)
    .join(', ')
