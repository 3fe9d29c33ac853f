import { z } from 'zod'
import { uuid } from '#core/schemas'
import type { Connection } from '#postgres/pool'
import type { AdvisedSim } from './advise.ts'

const minutesOfOperator = z.object({
  plmn: z.string(),
  noServiceMinutesPerDay: z
    .number()
    .nullable()
    .describe('Minutes without service a day with this operator. Null if it is not known.'),
})

/** The advice for the SIM in a modem, as lists of organizations show it. */
export const simAdviceSchema = z
  .object({
    organizationId: uuid(),
    deviceId: uuid(),
    deviceName: z.string(),
    modem: z.string().nullable().describe('Null for a router that does not name its modem.'),
    plmn: z.string().nullable().describe('The operator of most of its votes. Null if no vote has one.'),
    minutesPerDay: z.number().describe('Minutes with a position, a day on which the modem reported.'),
    noServiceMinutesPerDay: z.number().describe('Minutes without service a day today.'),
    operators: z
      .array(
        minutesOfOperator.extend({
          knownShare: z.number().describe('Share of the minutes that were in cells in which the operator has votes.'),
        }),
      )
      .describe(
        'The other operators of the country or with votes in the cells: the fewest minutes without service first, unknown ones last.',
      ),
    bestPlmn: z
      .string()
      .nullable()
      .describe('The operator with the fewest minutes without service. Null if none is better than today.'),
    gainMinutesPerDay: z
      .number()
      .nullable()
      .describe(
        'Minutes without service a day that `bestPlmn` would save. 0 if none is better, null if none is known.',
      ),
  })
  .meta({ id: 'SimAdvice' })

/** The minutes without service of several SIMs together. */
export const simTotalSchema = z
  .object({
    sims: z.int(),
    noServiceMinutesPerDay: z.number().describe('Of all SIMs, a day, today.'),
    operators: z
      .array(
        minutesOfOperator.extend({
          noServiceMinutesPerDay: z
            .number()
            .describe('With all SIMs of this operator. A SIM for which it is not known counts as today.'),
          knownSims: z.int().describe('SIMs for which it is known. Those of the operator count too.'),
        }),
      )
      .describe('The fewest minutes without service first.'),
  })
  .meta({ id: 'SimAdviceTotal' })

export type StoredAdvice = z.infer<typeof simAdviceSchema>
export type SimTotal = z.infer<typeof simTotalSchema>

/** The columns of a `StoredAdvice` named `a` of device `d`. */
export const adviceColumns = `a.organization_id AS "organizationId", a.device_id AS "deviceId", d.name AS "deviceName", a.modem, a.plmn,
  a.minutes_per_day AS "minutesPerDay", a.no_service_minutes_per_day AS "noServiceMinutesPerDay", a.operators,
  a.best_plmn AS "bestPlmn", a.gain_minutes_per_day AS "gainMinutesPerDay"`

/** Rows of one statement: their text is written at once. */
const rowsAtOnce = 1_000
/** After all known gains, which are not positive in the order. */
const unknownGain = 1

/** Replaces the advice of an organization. Locks the devices, so that a transfer at the same time finds the rows and deletes them. */
export async function replaceAdvice(
  connection: Connection,
  organizationId: string,
  advice: readonly AdvisedSim[],
): Promise<void> {
  await connection.query('DELETE FROM device_sim_advice WHERE organization_id = $1', [organizationId])
  for (let start = 0; start < advice.length; start += rowsAtOnce) {
    const rows = advice.slice(start, start + rowsAtOnce).map((sim) => ({
      ...sim,
      gainOrder: sim.gainMinutesPerDay === null ? unknownGain : -sim.gainMinutesPerDay,
    }))
    await connection.query(
      `INSERT INTO device_sim_advice (organization_id, device_id, modem, plmn, minutes_per_day, no_service_minutes_per_day,
         operators, best_plmn, gain_minutes_per_day, gain_order)
       SELECT d.organization_id, d.id, row.modem, row.plmn, row."minutesPerDay", row."noServiceMinutesPerDay",
         row.operators, row."bestPlmn", row."gainMinutesPerDay", row."gainOrder"
       FROM jsonb_to_recordset($2::jsonb) AS row ("deviceId" uuid, modem text, plmn text, "minutesPerDay" float8,
         "noServiceMinutesPerDay" float8, operators jsonb, "bestPlmn" text, "gainMinutesPerDay" float8,
         "gainOrder" float8)
       JOIN device d ON d.id = row."deviceId" AND d.organization_id = $1
       FOR KEY SHARE OF d`,
      [organizationId, JSON.stringify(rows)],
    )
  }
}
