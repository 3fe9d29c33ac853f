import { z } from 'zod'

/** How tools name a device. */
export const deviceReference = z.string().min(1).max(200).describe('The id, the serial or the name of a device.')

/** Which device a tool answered about. */
export const deviceOutput = z.object({
  id: z.string(),
  serial: z.string(),
  name: z.string(),
  status: z.string(),
  lastSeenAt: z.string().nullable(),
})
