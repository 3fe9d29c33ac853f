import type { BodyOf, Operation } from '../../api/operations.ts'
import type { Device } from '../../api/schemas.ts'

/** The filter of the device list as the API's bulk requests take it. */
export type BulkFilter = NonNullable<BodyOf<Operation<'post', `/orgs/${string}/device-tags`>>['filter']>

/** The chosen devices: some rows, or all devices of an organization that match the filter. */
export type BulkSelection = {
  size: number
  isAll: boolean
  /** The only organization of the devices; undefined if there are several. */
  organizationId: string | undefined
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
    body: { deviceIds: devices.map(({ id }) => id) },
  }
}

/** The chosen devices as parameters of the address of a new job. */
export function targetParams({ body }: BulkSelection): Record<string, string> {
  if ('deviceIds' in body) return { target: 'devices', device: body.deviceIds.join(',') }
  const { q = '', status = '', tag = [], placeId = '', configState = '' } = body.filter
  return { target: 'matching', q, status, tag: tag.join(','), place: placeId, config: configState }
}
