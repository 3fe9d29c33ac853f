import { readFileSync } from 'node:fs'
import { Command } from 'commander'
import { addAccessCommands } from './commands/access.ts'
import { addAlertCommands } from './commands/alerts.ts'
import { addApiCommand } from './commands/api.ts'
import { addCompletionCommands } from './commands/completion.ts'
import { addConfigCommands } from './commands/configs.ts'
import { addDeviceCommands } from './commands/devices.ts'
import { addFleetCommands } from './commands/fleet.ts'
import { addForecastCommand } from './commands/forecast.ts'
import { addGroupCommands } from './commands/groups.ts'
import { addJobCommands } from './commands/jobs.ts'
import { addLoginCommands } from './commands/login.ts'
import { addMcpCommand } from './commands/mcp.ts'
import { addPeopleCommands } from './commands/people.ts'
import { addTelemetryCommands } from './commands/telemetry.ts'
import { addVariableCommands } from './commands/variables.ts'

const packageFile = new URL('../../package.json', import.meta.url)
const { version } = JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string }

/** The command line. It throws a `CommanderError` instead of ending the process. */
export function createProgram(): Command {
  const program = new Command('routerfleet')
    .description('Manage a fleet of cellular routers.')
    .option('--profile <name>', 'the profile of `login` to use')
    .option('--url <address>', 'the address of the service (or ROUTERFLEET_URL)')
    .option('--key <key>', 'an API key; ROUTERFLEET_KEY keeps it out of the list of processes')
    .option('--org <id>', 'the organization; by default that of the profile')
    .option('--json', 'print JSON instead of tables')
    .version(version)
    .showHelpAfterError('Run with --help for the options.')
    .exitOverride()
  const parts = [
    addLoginCommands,
    addAccessCommands,
    addPeopleCommands,
    addDeviceCommands,
    addGroupCommands,
    addConfigCommands,
    addVariableCommands,
    addJobCommands,
    addAlertCommands,
    addFleetCommands,
    addForecastCommand,
    addTelemetryCommands,
    addMcpCommand,
    addApiCommand,
    addCompletionCommands,
  ]
  for (const add of parts) add(program)
  inheritSettings(program)
  return program
}

/** Commander copies settings to a sub-command only when it creates the sub-command itself. */
function inheritSettings(command: Command): void {
  for (const child of command.commands) {
    child.copyInheritedSettings(command)
    inheritSettings(child)
  }
}
