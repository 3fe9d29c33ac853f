import { z } from 'zod'
import { instantOut, uuid } from '#core/schemas'
import { radioStatuses } from '#telemetry/radio-health/radio-health'

const decibels = () => z.number().nullable()

/** How a radio receives beside its neighbours, as lists of organizations and of devices show it. */
export const radioHealthSchema = z
  .object({
    organizationId: uuid(),
    deviceId: uuid(),
    deviceName: z.string(),
    modem: z.string().nullable().describe('Null for a router that does not name its modem.'),
    status: z
      .enum(radioStatuses)
      .describe(
        '`fault`: at least 3 dB weaker than its neighbours, on 20 or more shared cells. `suspect`: probably weaker by more than 1 dB. `unknown`: fewer than 10 shared cells.',
      ),
    offsetDb: decibels().describe(
      'Difference to the neighbours in dB, without what is usual for the model. Negative is weaker. Null if unknown.',
    ),
    offsetLowDb: decibels().describe('Lower end of the 95 % interval of `offsetDb`.'),
    offsetHighDb: decibels().describe('Upper end of the 95 % interval of `offsetDb`.'),
    sharedCells: z
      .int()
      .describe(
        'H3 cells of resolution 10, each with one RAT and serving cell, in which at least two other devices measured.',
      ),
    comparedDevices: z.int().describe('Other devices in the shared cells.'),
    model: z.string().nullable(),
    modelOffsetDb: decibels().describe('What the devices of this model have in common, in dB. Not part of `offsetDb`.'),
    sinceAt: instantOut()
      .nullable()
      .describe('The UTC day on which a weak radio became weak. Null if it was weak in the whole window.'),
  })
  .meta({ id: 'RadioHealth' })

export type StoredHealth = z.infer<typeof radioHealthSchema>

/** The columns of a `StoredHealth` named `h` of device `d`. */
export const healthColumns = `h.organization_id AS "organizationId", h.device_id AS "deviceId", d.name AS "deviceName", h.modem, h.status,
  h.offset_db AS "offsetDb", h.offset_low_db AS "offsetLowDb", h.offset_high_db AS "offsetHighDb",
  h.shared_cells AS "sharedCells", h.compared_devices AS "comparedDevices", h.model,
  h.model_offset_db AS "modelOffsetDb", h.since_at AS "sinceAt"`
