import { type Command, Option } from 'commander'
import type { components, paths } from '../../openapi.ts'
import { CommandError, exitCodes } from '../exit-codes.ts'
import { findDeviceId } from '../find-device.ts'
import { collect } from '../input.ts'
import { openSession, type Session } from '../session.ts'
import { table } from '../table.ts'

type AlertQuery = NonNullable<paths['/orgs/{orgId}/alerts']['get']['parameters']['query']>
type State = NonNullable<AlertQuery['state']>[number]
type Severity = NonNullable<AlertQuery['severity']>

type FilterOptions = { severity?: Severity; device?: string; group?: string; rule?: string }
type ListOptions = FilterOptions & { state?: State[]; limit: string }

type NoteOptions = { assignee?: string; comment?: string }
type HandleOptions = FilterOptions & NoteOptions & { all?: true }
type Handled = components['schemas']['HandledAlerts']

const severities = ['critical', 'warning', 'info'] as const

const withFilter = (command: Command): Command =>
  command
    .addOption(new Option('--severity <severity>', 'only alerts of this severity').choices(severities))
    .option('--device <device>', 'only alerts of this device')
    .option('--group <id>', 'only alerts of the devices of this group')
    .option('--rule <id>', 'only alerts of this rule')

/** `alerts`. */
export function addAlertCommands(program: Command): void {
  const alerts = program.command('alerts').description('Alerts of devices.')
  withFilter(alerts.command('list').description('List alerts, newest first; by default those that are open.'))
    .option('--state <state>', 'open, acknowledged or closed; can be repeated', collect)
    .option('--limit <number>', 'print at most this many', '50')
    .action(listAlerts)
  withFilter(
    alerts.command('acknowledge [alert...]').description('Acknowledge alerts by their ids, or all that match.'),
  )
    .option('--all', 'all open alerts that match the filter')
    .option('--assignee <person>', 'who takes care of them')
    .option('--comment <text>', 'what to write about them')
    .action((ids: string[], options: HandleOptions, command: Command) => handle('acknowledge', ids, options, command))
  withFilter(alerts.command('close [alert...]').description('Close alerts by their ids, or all that match.'))
    .option('--all', 'all alerts that match the filter and are not closed')
    .option('--comment <text>', 'what to write about them')
    .action((ids: string[], options: HandleOptions, command: Command) => handle('close', ids, options, command))
  alerts
    .command('note <alert>')
    .description('Change who takes care of an alert, and the comment. An empty text removes it.')
    .option('--assignee <person>', 'who takes care of it')
    .option('--comment <text>', 'what to write about it')
    .action(writeNotes)
  alerts.command('count').description('Count the alerts that are not closed, by severity.').action(countAlerts)
}

async function listAlerts({ state = ['open'], limit, ...filter }: ListOptions, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId() }
  const query = { state, limit: Number(limit), ...(await filterQuery(session, filter)) }
  const { items } = await session.client.get('/orgs/{orgId}/alerts', { params: { path, query } })
  session.print(items, () =>
    table(
      ['ID', 'SEVERITY', 'STATE', 'KIND', 'DEVICE', 'RULE', 'OPENED'],
      items.map((alert) => [
        alert.id,
        alert.severity,
        alert.state,
        alert.kind,
        alert.deviceName ?? alert.deviceId,
        alert.ruleName,
        alert.openedAt,
      ]),
      'No alerts.',
    ),
  )
}

async function handle(
  verb: 'acknowledge' | 'close',
  ids: string[],
  { all, assignee, comment, ...filter }: HandleOptions,
  command: Command,
): Promise<void> {
  const session = openSession(command)
  const given = await filterQuery(session, filter)
  if (ids.length > 0 === Boolean(all)) throw new CommandError('Name alerts, or use --all.', exitCodes.usage)
  if (ids.length > 0 && Object.keys(given).length > 0) {
    throw new CommandError('Filters need --all.', exitCodes.usage)
  }
  const params = { path: { orgId: await session.organizationId() } }
  const selected = all ? { filter: given } : { alertIds: ids }
  const notes = { ...(comment && { comment }), ...(assignee && { assignee }) }
  const results: Handled['results'] = []
  let hasMore = true
  while (hasMore) {
    const body = { ...selected, ...notes }
    const done: Handled =
      verb === 'close'
        ? await session.client.post('/orgs/{orgId}/alert-closures', { params, body })
        : await session.client.post('/orgs/{orgId}/alert-acknowledgements', { params, body })
    results.push(...done.results)
    hasMore = done.hasMore && done.changed > 0
  }
  session.print(results, () =>
    table(
      ['ALERT', 'OUTCOME'],
      results.map(({ alertId, outcome }) => [alertId, outcome]),
      'No alerts.',
    ),
  )
}

async function writeNotes(id: string, { assignee, comment }: NoteOptions, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId(), id }
  const body = {
    ...(assignee !== undefined && { assignee: assignee || null }),
    ...(comment !== undefined && { comment: comment || null }),
  }
  const alert = await session.client.patch('/orgs/{orgId}/alerts/{id}', { params: { path }, body })
  session.print(alert, () => `Assignee: ${alert.assignee ?? 'none'}. Comment: ${alert.comment ?? 'none'}.`)
}

async function filterQuery(session: Session, { severity, device, group, rule }: FilterOptions) {
  return {
    ...(severity && { severity }),
    ...(device && { deviceId: await findDeviceId(session, device) }),
    ...(group && { groupId: group }),
    ...(rule && { ruleId: rule }),
  }
}

async function countAlerts(_options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const { org } = command.optsWithGlobals<{ org?: string }>()
  const counts = org
    ? await session.client.get('/orgs/{orgId}/alert-counts', { params: { path: { orgId: org } } })
    : await session.client.get('/alert-counts')
  session.print(counts, () =>
    table(
      ['SEVERITY', 'OPEN', 'ACKNOWLEDGED'],
      severities.map((severity) => {
        const { open = 0, acknowledged = 0 } = counts.bySeverity[severity] ?? {}
        return [severity, open, acknowledged]
      }),
    ),
  )
}
