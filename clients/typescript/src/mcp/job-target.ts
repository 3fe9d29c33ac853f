import { z } from 'zod'
import { CommandError, exitCodes } from '../cli/exit-codes.ts'
import { findDeviceOf, isDeviceId } from '../cli/find-device.ts'
import { planText } from '../cli/planned-batch.ts'
import type { components } from '../openapi.ts'
import type { Prepared } from './confirmed-tool.ts'
import { deviceReference } from './device-reference.ts'
import type { ToolCaller } from './tool.ts'

type Plan = components['schemas']['JobBatchPlan']
type Batch = components['schemas']['JobBatch']

/** How tools say for which devices they create jobs. */
export const targetInput = {
  devices: z.array(deviceReference).min(1).max(50).optional().describe('Devices by id, serial or name.'),
  groupId: z.uuid().optional().describe('All members of this group. Replaces `devices`.'),
}

type Target = { devices?: string[] | undefined; groupId?: string | undefined }

/** What the audit log says of the target. */
export const targetText = ({ devices, groupId }: Target): string => devices?.join(', ') ?? `group ${groupId}`

/** The target of a request for jobs. Throws if a name stands for no device of the organization; the service checks ids. */
export async function targetOf({ session: { client }, organizationId }: ToolCaller, { devices, groupId }: Target) {
  if ((devices === undefined) === (groupId === undefined)) {
    throw new CommandError('Send either devices or groupId.', exitCodes.usage)
  }
  if (groupId !== undefined) return { groupId }
  const deviceIds = new Set<string>()
  for (const reference of devices ?? []) {
    deviceIds.add(isDeviceId(reference) ? reference : (await findDeviceOf(client, organizationId, reference)).id)
  }
  return { deviceIds: [...deviceIds] }
}

/** The output schemas of a plan for jobs, and of the batch that was created. */
export const batchOutput = {
  plan: z.object({
    kind: z.string(),
    total: z.int().describe('The number of jobs, one for each device.'),
    targetName: z.string().nullable().describe('The name of the group.'),
    profile: z.object({ id: z.string(), version: z.number(), name: z.string().nullable() }).nullable(),
    skipped: z.array(z.object({ deviceId: z.string(), reason: z.string() })),
    moreSkipped: z.int().describe('The number of skipped devices that are left out.'),
  }),
  result: z.object({ batchId: z.string(), kind: z.string(), status: z.string(), total: z.int() }),
}

type BatchPlan = z.input<typeof batchOutput.plan>
type BatchResult = z.input<typeof batchOutput.result>

const mostSkipped = 20

/** The plan of a batch, and how it is created. */
export function preparedBatch(plan: Plan, create: () => Promise<Batch>): Prepared<BatchPlan, BatchResult> {
  const { kind, total, targetName, profile, skipped, skippedReasons } = plan
  const moreSkipped = Math.max(0, skipped.length - mostSkipped)
  return {
    plan: { kind, total, targetName, profile, skipped: skipped.slice(0, mostSkipped), moreSkipped },
    planText: planText(plan),
    changes: { total, profile, skippedReasons },
    async act() {
      const batch = await create()
      const result = { batchId: batch.id, kind: batch.kind, status: batch.status, total: batch.total }
      return { result, text: `Created the batch ${batch.id} with ${batch.total} jobs. list_jobs shows how they end.` }
    },
  }
}
