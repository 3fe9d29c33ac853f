import { z } from 'zod'
import { soughtText, uuid } from '#core/schemas'
import type { DeviceSelection } from '#fleet/devices/retag'
import { deviceStatuses } from '#fleet/devices/status'
import { selectLive } from '#fleet-map/device-list/live-selection'
import { boundingBoxIn } from '../../http/geo-schemas.ts'
import { requestReader } from '../../http/request-reader.ts'
import type { RouteInput } from '../../http/route.ts'
import { distinct } from '../../http/schemas.ts'
import { bodyFilter, sharedFilter } from './device-schemas.ts'

const maxDevices = 10_000

const matchingFilter = z
  .strictObject({
    status: z.enum(deviceStatuses).optional(),
    q: soughtText(100)
      .min(2)
      .optional()
      .describe('Case-insensitive substring of name, serial, model or organization name.'),
    tag: distinct(soughtText(64), 20).optional().describe('Devices that have all of these tags.'),
    ...sharedFilter,
    ...bodyFilter,
    bbox: boundingBoxIn.optional(),
  })
  .describe('All devices of the organization that match. An empty filter matches all devices.')
  .meta({ id: 'DeviceFilter' })

/** The members of a request that select devices: `deviceIds` or `filter`. */
export const selectionFields = {
  deviceIds: distinct(uuid(), maxDevices, 1).optional(),
  filter: matchingFilter.optional().describe('Replaces `deviceIds`: all devices that match when the request is made.'),
}

type SelectionFields = { deviceIds?: string[] | undefined; filter?: z.infer<typeof matchingFilter> | undefined }

export const isOneSelection = ({ deviceIds, filter: matching }: SelectionFields): boolean =>
  (deviceIds === undefined) !== (matching === undefined)

export const selectionOf = ({ deviceIds, filter: matching }: SelectionFields): DeviceSelection =>
  matching === undefined ? { deviceIds: deviceIds ?? [] } : { filter: matching }

type Asking = Pick<RouteInput<unknown, unknown, unknown>, 'ctx' | 'services' | 'http'>

/** Adds the devices that the live map finds for the filter of a selection, if the filter asks it. Throws 403 and 404. */
export async function withLive<Selected extends object>(
  input: Asking,
  orgId: string,
  selected: Selected,
): Promise<Selected & { liveIds?: readonly string[] }> {
  if (!('filter' in selected)) return selected
  const filter = selected.filter as z.infer<typeof matchingFilter>
  const live = await selectLive(input.ctx, input.services.fleetMaps, requestReader(input), { orgId, filter })
  return live ? { ...selected, liveIds: live.ids } : selected
}

export const oneSelection = 'Send either deviceIds or filter.'
