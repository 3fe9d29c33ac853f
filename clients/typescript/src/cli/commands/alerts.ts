import { setTimeout as delay } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import { nearText } from '../../near.ts'
import type { components, paths } from '../../openapi.ts'
import { alertSubject } from '../alert-subject.ts'
import { allOf } from '../all-of.ts'
import { CommandError, exitCodes } from '../exit-codes.ts'
import { findDeviceId } from '../find-device.ts'
import { askSecret, collect, readInput } from '../input.ts'
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

type ChatChannel = components['schemas']['ChatChannel']

const chatKinds = ['slack', 'teams', 'mattermost'] as const
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
  const channels = alerts.command('channels').description('Chat channels to which rules send alerts.')
  channels.command('list').description('List chat channels with their last messages.').action(listChannels)
  channels
    .command('create <name>')
    .description('Create a chat channel. Reads the URL of its incoming webhook, a secret, from the standard input.')
    .addOption(new Option('--kind <kind>', 'the chat service').choices(chatKinds).makeOptionMandatory())
    .action(createChannel)
  channels.command('test <channel>').description('Send a test message, and print its result.').action(testChannel)
  alerts.command('count').description('Count the alerts that are not closed, by severity.').action(countAlerts)
}

async function listAlerts({ state = ['open'], limit, ...filter }: ListOptions, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId() }
  const query = { state, limit: Number(limit), ...(await filterQuery(session, filter)) }
  const { items } = await session.client.get('/orgs/{orgId}/alerts', { params: { path, query } })
  session.print(items, () =>
    table(
      ['ID', 'SEVERITY', 'STATE', 'KIND', 'DEVICE', 'RULE', 'NEAR', 'OPENED'],
      items.map((alert) => [
        alert.id,
        alert.severity,
        alert.state,
        alert.kind,
        alertSubject(alert),
        alert.ruleName,
        alert.near && nearText(alert.near),
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

async function listChannels(_options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId() }
  const items = await allOf(session.client.list('/orgs/{orgId}/chat-channels', { params: { path } }))
  session.print(items, () =>
    table(
      ['ID', 'NAME', 'KIND', 'HOST', 'LAST TEST', 'LAST ALERT'],
      items.map(({ id, name, kind, host, lastTest, lastAlert }) => [
        id,
        name,
        kind,
        host,
        messageText(lastTest),
        messageText(lastAlert),
      ]),
      'No chat channels.',
    ),
  )
}

const messageText = (message: ChatChannel['lastTest']): string =>
  message === null ? '' : message.error === null ? message.state : `${message.state}: ${message.error}`

async function createChannel(
  name: string,
  { kind }: { kind: (typeof chatKinds)[number] },
  command: Command,
): Promise<void> {
  const session = openSession(command)
  const path = { orgId: await session.organizationId() }
  const url = process.stdin.isTTY ? await askSecret('URL: ') : (await readInput('-')).trim()
  const channel = await session.client.post('/orgs/{orgId}/chat-channels', {
    params: { path },
    body: { name, kind, url },
  })
  session.print(channel, () => channel.id)
}

const resultTries = 30

async function testChannel(id: string, _options: object, command: Command): Promise<void> {
  const session = openSession(command)
  const params = { path: { orgId: await session.organizationId(), id } }
  let channel: ChatChannel = await session.client.post('/orgs/{orgId}/chat-channels/{id}/test', { params })
  for (let tries = 0; tries < resultTries && channel.lastTest?.state === 'waiting'; tries++) {
    await delay(1_000)
    channel = await session.client.get('/orgs/{orgId}/chat-channels/{id}', { params })
  }
  session.print(channel, () => messageText(channel.lastTest))
  if (channel.lastTest?.state !== 'sent') process.exitCode = exitCodes.failed
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
