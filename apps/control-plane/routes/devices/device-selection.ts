import { z } from 'zod'
import { soughtText, uuid } from '#core/schemas'
import { configStates } from '#fleet/config-profiles/config-state'
import type { DeviceSelection } from '#fleet/devices/retag'
import { deviceStatuses } from '#fleet/devices/status'
import { distinct } from '../../http/schemas.ts'

const maxDevices = 10_000

const filter = z
  .strictObject({
    status: z.enum(deviceStatuses).optional(),
    q: soughtText(100)
      .min(2)
      .optional()
      .describe('Case-insensitive substring of name, serial, model or organization name.'),
    tag: distinct(soughtText(64), 20).optional().describe('Devices that have all of these tags.'),
    configState: z
      .enum(configStates)
      .optional()
      .describe('Whether devices run the profile that was last applied to them.'),
    placeId: uuid().optional().describe('Devices whose last position is inside this place. Needs `fleet:read`.'),
  })
  .describe('All devices of the organization that match. An empty filter matches all devices.')
  .meta({ id: 'DeviceFilter' })

/** The members of a request that select devices: `deviceIds` or `filter`. */
export const selectionFields = {
  deviceIds: distinct(uuid(), maxDevices, 1).optional(),
  filter: filter.optional().describe('Replaces `deviceIds`: all devices that match when the request is made.'),
}

type SelectionFields = { deviceIds?: string[] | undefined; filter?: z.infer<typeof filter> | undefined }

export const isOneSelection = ({ deviceIds, filter: matching }: SelectionFields): boolean =>
  (deviceIds === undefined) !== (matching === undefined)

export const selectionOf = ({ deviceIds, filter: matching }: SelectionFields): DeviceSelection =>
  matching === undefined ? { deviceIds: deviceIds ?? [] } : { filter: matching }

export const oneSelection = 'Send either deviceIds or filter.'
