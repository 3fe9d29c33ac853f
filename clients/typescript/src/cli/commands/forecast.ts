import type { Command } from 'commander'
import { RouteFileError } from '../../route/position.ts'
import { readRouteFile } from '../../route/route-file.ts'
import { CommandError, exitCodes } from '../exit-codes.ts'
import { readBytes } from '../input.ts'
import { openSession } from '../session.ts'
import { table } from '../table.ts'

/** `forecast`. */
export function addForecastCommand(program: Command): void {
  program
    .command('forecast <file>')
    .description('Forecast the signal along a route from GPX or GeoJSON; `-` is the standard input.')
    .option('--plmn <code>', 'only samples of this operator')
    .action(forecast)
}

async function forecast(file: string, { plmn }: { plmn?: string }, command: Command): Promise<void> {
  const { client, print } = openSession(command)
  const { org } = command.optsWithGlobals<{ org?: string }>()
  const body = { path: await readPath(file), ...(plmn && { plmn }), ...(org && { orgId: org }) }
  const { segments, summary, lengthM, ...rest } = await client.post('/fleet/forecast', { body })
  print({ ...rest, lengthM, segments, summary }, () => {
    const lines = [
      `Length ${km(lengthM)}${rest.stretches ? ` in ${rest.stretches.length} parts` : ''}, with data ${km(summary.knownM)}, poor ${km(summary.poorM)}, dead ${km(summary.deadM)}.`,
      summary.recommendedPlmn ? `Recommended operator: ${summary.recommendedPlmn}.` : 'No operator is recommended.',
      table(
        ['DEAD FROM', 'TO', 'LENGTH'],
        summary.deadZones.map((zone) => [km(zone.fromM), km(zone.toM), km(zone.lengthM)]),
        'No dead zones are known.',
      ),
    ]
    return lines.join('\n')
  })
}

/** Reads the lines of a route file. Says on the standard error what was left out. */
async function readPath(file: string) {
  try {
    const { lines, notes } = readRouteFile(await readBytes(file))
    for (const note of notes) process.stderr.write(`${note}\n`)
    return { type: 'MultiLineString' as const, coordinates: lines }
  } catch (error) {
    throw error instanceof RouteFileError ? new CommandError(error.message, exitCodes.usage) : error
  }
}

const km = (metres: number): string => `${(metres / 1_000).toFixed(1)} km`
