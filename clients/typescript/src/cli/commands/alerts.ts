import { type Command, Option } from 'commander'
import type { paths } from '../../openapi.ts'
import { findDeviceId } from '../find-device.ts'
import { collect } from '../input.ts'
import { openSession, type Session } from '../session.ts'
import { table } from '../table.ts'

type AlertQuery = NonNullable<paths['/orgs/{orgId}/alerts']['get']['parameters']['query']>
type State = NonNullable<AlertQuery['state']>[number]
type Severity = NonNullable<AlertQuery['severity']>

type FilterOptions = { severity?: Severity; device?: string; group?: string; rule?: string }
type ListOptions = FilterOptions & { state?: State[]; limit: string }

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
