import { z } from 'zod'
import { instantOut, uuid } from '#core/schemas'
import { deviceStatuses } from '#fleet/devices/status'
import { jobKinds } from '#fleet/jobs/model/kinds'
import { jobStatuses } from '#fleet/jobs/model/states'

const deviceId = uuid()
const described = { serial: z.string(), name: z.string() }
const dwell = {
  deviceId,
  dwellId: z.string(),
  arrivedAt: instantOut(),
  lat: z.number(),
  lon: z.number(),
  radiusM: z.number(),
}

/**
 * The `data` of events, by type, except those of alerts. Publishers are typed by these schemas, and the OpenAPI document has them.
 * Each description says when the event occurs.
 */
export const fleetEventSchemas = {
  'device.created': z.object({ deviceId, ...described, model: z.string() }).describe('A device was created.'),
  'device.deleted': z.object({ deviceId, ...described }).describe('A device was deleted.'),
  'device.transferred': z
    .object({
      deviceId,
      serial: z.string(),
      fromOrganizationId: uuid(),
      toOrganizationId: uuid(),
      reason: z.string().nullable(),
    })
    .describe('A device moved to another organization. Both organizations receive the event.'),
  'device.status_changed': z
    .object({ deviceId, from: z.enum(deviceStatuses), to: z.enum(deviceStatuses), reason: z.string() })
    .describe('The status of a device changed, automatically or by a request.'),
  'job.finished': z
    .object({
      jobId: uuid(),
      batchId: uuid().nullable(),
      deviceId,
      kind: z.enum(jobKinds),
      status: z.enum(jobStatuses),
      attempt: z.int(),
    })
    .describe('A job reached its final status.'),
  'job_batch.finished': z
    .object({
      batchId: uuid(),
      kind: z.enum(jobKinds),
      status: z.enum(['finished', 'cancelled']),
      total: z.int(),
      counts: z.record(z.enum(jobStatuses), z.int()),
    })
    .describe('The last job of a batch reached its final status.'),
  'dwell.started': z.object(dwell).describe('A dwell was detected, some minutes after the device arrived.'),
  'dwell.ended': z
    .object({ ...dwell, departedAt: instantOut().nullable().describe('Null if late reports revoked the dwell.') })
    .describe('The device left a dwell.'),
  'quota.reached': z.object({ limit: z.int(), used: z.int() }).describe('The organization reached its device quota.'),
}
