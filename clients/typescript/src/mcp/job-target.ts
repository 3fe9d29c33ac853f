import { z } from 'zod'
import { CommandError, exitCodes } from '../cli/exit-codes.ts'
import { findDeviceOf } from '../cli/find-device.ts'
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

/** The target of a request for jobs. Throws if the organization has no such device. */
export async function targetOf({ session: { client }, organizationId }: ToolCaller, { devices, groupId }: Target) {
  if ((devices === undefined) === (groupId === undefined)) {
    throw new CommandError('Send either devices or groupId.', exitCodes.usage)
  }
  if (groupId !== undefined) return { groupId }
  const deviceIds = []
  for (const reference of devices ?? []) deviceIds.push((await findDeviceOf(client, organizationId, reference)).id)
  return { deviceIds }
}

const mostSkipped = 20

/** The plan of a batch, and how it is created. */
export function preparedBatch(plan: Plan, create: () => Promise<Batch>): Prepared {
  const { kind, total, targetName, profile, skipped, skippedReasons } = plan
  const moreSkipped = Math.max(0, skipped.length - mostSkipped)
  const left = { skipped: skipped.slice(0, mostSkipped), moreSkipped, skippedReasons }
  return {
    plan: { kind, total, targetName, profile, ...left },
    planText: planText(plan),
    changes: { total, profile, skippedReasons },
    async act() {
      const batch = await create()
      const result = { batchId: batch.id, kind: batch.kind, status: batch.status, total: batch.total }
      return { result, text: `Created the batch ${batch.id} with ${batch.total} jobs. list_jobs shows how they end.` }
    },
  }
}
