import type { Command } from 'commander'
import { type DeliveryOptions, deliveryOf, withDelivery } from '../delivery.ts'
import { CommandError, exitCodes } from '../exit-codes.ts'
import { findDeviceId } from '../find-device.ts'
import { readJson } from '../input.ts'
import { planText } from '../planned-batch.ts'
import { openSession, type Session } from '../session.ts'
import { table } from '../table.ts'
import { watchBatch } from '../watch-batch.ts'

type Kind = 'reboot' | 'firmware_update' | 'collect_diagnostics' | 'speed_test'

/** `jobs`. */
export function addJobCommands(program: Command): void {
  const jobs = program.command('jobs').description('Commands for routers.')
  jobs
    .command('list')
    .description('List the newest jobs.')
    .option('--batch <id>', 'only jobs of this batch')
    .option('--limit <count>', 'at most so many jobs, up to 200', '50')
    .action(listJobs)
  jobs.command('get <job>').description('Show a job with its history.').action(getJob)
  withDelivery(jobs.command('create <kind>'))
    .description('Create a job: reboot, firmware_update, collect_diagnostics or speed_test. Prints its id.')
    .option('--group <id>', 'a job for each member of this group; prints the id of the batch')
    .option('--device <device>', 'a job for this device')
    .option('--parameters <json>', 'the parameters: JSON, @file, or - for the standard input')
    .option('--dry-run', 'print what would be created, and create nothing')
    .option('--watch', 'with --group: follow the batch until it ends')
    .action(createJob)
  jobs
    .command('watch <batch>')
    .description('Follow a batch until all its jobs have ended.')
    .action((batchId: string, _options: object, command: Command) => watchBatch(openSession(command), batchId))
  jobs.command('cancel <batch>').description('Cancel a batch.').action(cancelBatch)
}

async function listJobs(options: { batch?: string; limit: string }, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId() }
  const query = { limit: Number(options.limit), ...(options.batch && { batchId: options.batch }) }
  const { items } = await session.client.get('/orgs/{orgId}/jobs', { params: { path, query } })
  session.print(items, () =>
    table(
      ['ID', 'DEVICE', 'KIND', 'STATUS', 'HELD', 'ATTEMPT', 'CREATED'],
      items.map((job) => [job.id, job.deviceId, job.kind, job.status, job.heldBecause, job.attempt, job.createdAt]),
    ),
  )
}

async function getJob(id: string, _options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId(), id }
  const job = await session.client.get('/orgs/{orgId}/jobs/{id}', { params: { path } })
  session.print(job, () => {
    const facts = [job.kind, job.status, job.heldBecause && `held (${job.heldBecause})`, job.error?.detail]
      .filter(Boolean)
      .join(', ')
    return `${facts}\n${table(
      ['AT', 'STATUS', 'BY'],
      job.history.map(({ at, status, by }) => [at, status, by]),
    )}`
  })
}

type CreateOptions = DeliveryOptions & {
  group?: string
  device?: string
  parameters?: string
  dryRun?: boolean
  watch?: boolean
}

async function createJob(kind: Kind, options: CreateOptions, command: Command): Promise<void> {
  const { group, device, dryRun, watch } = options
  if ((group === undefined) === (device === undefined)) {
    throw new CommandError('Add either --group or --device.', exitCodes.usage)
  }
  const delivery = deliveryOf(options)
  const session = openSession(command)
  // The service checks the parameters of each kind.
  const parameters = options.parameters && { parameters: await readJson(options.parameters) }
  const body = { kind, ...parameters, ...delivery } as { kind: 'reboot' }
  if (dryRun) {
    const plan = await planJobs(session, options, body)
    return session.print(plan, () => planText(plan))
  }
  if (device !== undefined) return createDeviceJob(session, device, body)
  const path = { orgId: await session.organizationId(), id: group ?? '' }
  const batch = await session.client.post('/orgs/{orgId}/groups/{id}/jobs', { params: { path }, body })
  if (watch) await watchBatch(session, batch.id)
  else session.print(batch, () => batch.id)
}

async function planJobs(session: Session, { group, device = '' }: CreateOptions, body: { kind: 'reboot' }) {
  const orgId = await session.organizationId()
  if (group !== undefined)
    return session.client.dryRun('/orgs/{orgId}/groups/{id}/jobs', { params: { path: { orgId, id: group } }, body })
  const deviceIds = [await findDeviceId(session, device)]
  return session.client.dryRun('/orgs/{orgId}/job-batches', {
    params: { path: { orgId } },
    body: { ...body, deviceIds },
  })
}

async function createDeviceJob(session: Session, reference: string, body: { kind: 'reboot' }): Promise<void> {
  const path = { id: await findDeviceId(session, reference) }
  const job = await session.client.post('/devices/{id}/jobs', { params: { path }, body })
  session.print(job, () => job.id)
}

async function cancelBatch(id: string, _options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId(), id }
  const batch = await session.client.post('/orgs/{orgId}/job-batches/{id}/cancel', { params: { path } })
  session.print(batch, () => `Cancelled ${batch.id}.`)
}
