import type { Device } from '../../api/schemas.ts'
import { type BulkFilter, filtersInAddress } from './list-filter.ts'

/** The chosen devices: some rows, or all devices of an organization that match the filter. */
export type BulkSelection = {
  size: number
  isAll: boolean
  /** The only organization of the devices; undefined if there are several. */
  organizationId: string | undefined
  /** The names of the chosen rows; empty if all matching devices are chosen. */
  names: string[]
  /** The members of a request that name the devices. */
  body: { deviceIds: string[] } | { filter: BulkFilter }
}

export const selectionOfRows = (devices: readonly Device[]): BulkSelection => {
  const [first] = devices
  const isOneOrganization = devices.every(({ organizationId }) => organizationId === first?.organizationId)
  return {
    size: devices.length,
    isAll: false,
    organizationId: isOneOrganization ? first?.organizationId : undefined,
    names: devices.map(({ name }) => name),
    body: { deviceIds: devices.map(({ id }) => id) },
  }
}

/** The chosen devices as parameters of the address of a new job. */
export function targetParams({ body }: BulkSelection): Record<string, string> {
  if ('deviceIds' in body) return { target: 'devices', device: body.deviceIds.join(',') }
  return { target: 'matching', ...Object.fromEntries(filtersInAddress()) }
}
