import type { Command, Option } from 'commander'
import { CommandError, exitCodes } from '../exit-codes.ts'
import { profilePath, readProfiles } from '../profiles.ts'
import { print } from '../session.ts'

/** `completion` prints the script for a shell. The script calls the hidden command `complete`. */
export function addCompletionCommands(program: Command): void {
  program
    .command('completion <shell>')
    .description('Print the completion for bash. Add `source <(routerfleet completion bash)` to ~/.bashrc.')
    .action((shell: string) => {
      if (shell !== 'bash') throw new CommandError('Only bash is supported.', exitCodes.usage)
      process.stdout.write(script)
    })
  program
    .command('complete [words...]', { hidden: true })
    .allowUnknownOption()
    .helpOption(false)
    .action((words: string[]) => {
      for (const word of candidates(program, words)) print(word)
    })
}

// Without candidates, bash completes file names.
const script = `_routerfleet() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(routerfleet complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _routerfleet routerfleet
`

/** The values of options that have a fixed list which the service checks. The program checks the choices of others. */
const optionValues: Record<string, readonly string[]> = {
  '--role': ['viewer', 'operator', 'admin'],
  '--status': ['provisioning', 'online', 'offline', 'disabled', 'error'],
  '--signal': ['excellent', 'good', 'fair', 'poor', 'none', 'unknown'],
  '--modems': ['several', 'withoutService'],
  '--include': ['signal', 'near', 'dataUse'],
  '--kind': ['connection', 'cellular', 'system', 'location'],
}
const formats: Record<string, readonly string[]> = {
  'devices export': ['csv', 'ndjson'],
  'telemetry export': ['csv', 'ndjson', 'parquet'],
  'fleet export': ['csv', 'parquet'],
  'fleet gps': ['table', 'json', 'columnar', 'geojson'],
}
const argumentValues: Record<string, readonly string[]> = {
  'jobs create': ['reboot', 'firmware_update', 'collect_diagnostics', 'speed_test'],
  'fleet export': ['coverage', 'trips', 'dwells'],
  completion: ['bash'],
}

/** What can follow the words before the last one, which is being typed. */
function candidates(program: Command, words: readonly string[]): string[] {
  const { command, names } = commandOf(program, words.slice(0, -1))
  const previous = words.at(-2) ?? ''
  if (previous === '--profile') return Object.keys(readProfiles(profilePath(process.env)).profiles)
  if (previous === '--format') return [...(formats[names.join(' ')] ?? [])]
  const values = optionValues[previous] ?? choicesOf(optionsOf(program, command), previous)
  if (values) return [...values]
  if (takesValue(optionsOf(program, command), previous)) return []
  if (words.at(-1)?.startsWith('-')) return optionsOf(program, command).map(({ long }) => long ?? '')
  const children = command.commands.filter((child) => !isHidden(child)).map((child) => child.name())
  return [...children, ...(argumentValues[names.join(' ')] ?? [])]
}

/** The command that the words lead to. Options and their values can stand between the names. */
function commandOf(program: Command, words: readonly string[]): { command: Command; names: string[] } {
  let command = program
  const names: string[] = []
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? ''
    if (word.startsWith('-')) {
      if (takesValue(optionsOf(program, command), word)) index += 1
      continue
    }
    const child = command.commands.find((candidate) => candidate.name() === word)
    if (!child) continue
    command = child
    names.push(word)
  }
  return { command, names }
}

const optionsOf = (program: Command, command: Command): Option[] =>
  command === program ? [...program.options] : [...command.options, ...program.options]

const takesValue = (options: readonly Option[], word: string): boolean =>
  options.some(({ long, short, required, optional }) => (long === word || short === word) && (required || optional))

const choicesOf = (options: readonly Option[], word: string): readonly string[] | undefined =>
  options.find(({ long }) => long === word)?.argChoices

const isHidden = (command: Command): boolean => command.name() === 'complete'
