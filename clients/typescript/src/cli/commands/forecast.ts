import type { Command } from 'commander'
import { readInput } from '../input.ts'
import { readRoute } from '../route-file.ts'
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
  const path = readRoute(await readInput(file))
  const body = { path, ...(plmn && { plmn }), ...(org && { orgId: org }) }
  const { segments, summary, lengthM, ...rest } = await client.post('/fleet/forecast', { body })
  print({ ...rest, lengthM, segments, summary }, () => {
    const lines = [
      `Length ${km(lengthM)}, with data ${km(summary.knownM)}, poor ${km(summary.poorM)}, dead ${km(summary.deadM)}.`,
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

const km = (metres: number): string => `${(metres / 1_000).toFixed(1)} km`
