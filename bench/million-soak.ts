import { setTimeout as pause } from 'node:timers/promises'
import { type MillionFleet, questdbHeapBytes, seedMillion } from './million-fleet.ts'
import { panningFigures } from './million-panning.ts'
import { tilePath } from './million-tiles.ts'
import type { Bench, Figure } from './report.ts'
import { serveApi } from './served-api.ts'
import { soakFigures } from './soak.ts'
import { type BenchStack, startIngestProcess, withBenchStack } from './stack.ts'
import { sendReports } from './steady-load.ts'
import { storedFigures, storedSamples } from './stored-samples.ts'

const intervalS = 300
const minuteMs = 60_000
const panningShare = 1 / 6
/** By then, each device has reported. Before, ingest reads the token and the state of each device from the databases. */
const panningAfterMs = intervalS * 1_000

/** Whether an hour of the reports of a million devices keeps every process small, and stores every sample. */
export const millionSoak: Bench = {
  name: 'million-soak',
  about:
    'Memory of every process while 1,000,000 devices of one organization each report one sample of each kind every five minutes, readers request tiles, lists and a device, and a page pans the map for a sixth of the time. Then the stored samples are counted (--devices N: another number of devices; --minutes N; --quick: 2,000 devices, one minute).',
  byNameOnly: true,
  run: ({ quick, devices = quick ? 2_000 : 1_000_000, minutes = quick ? 1 : 60 }) =>
    withBenchStack((stack) => measure(stack, devices, minutes), { questdbHeapBytes }),
}

async function measure(stack: BenchStack, devices: number, minutes: number): Promise<Figure[]> {
  const fleet = await seedMillion(stack, devices)
  const seeded = await storedSamples(stack)
  const ingest = await startIngestProcess(stack)
  const api = await serveApi(stack, ingest.port)
  const load = sendReports({
    ...{ port: ingest.port, tokens: fleet.tokens, reportsPerSecond: devices / intervalS, shape: 'spread' },
  })
  try {
    const [memory, page] = await Promise.all([
      soakFigures(stack, {
        ...{ ingestPid: ingest.pid, api, minutes, refused: load.refused },
        paths: (round) => mapPaths(fleet, round),
      }),
      // In the first third, which is not compared.
      pause(Math.min(panningAfterMs, (minutes * minuteMs) / 10))
        .then(() => panningFigures(api, minutes * panningShare))
        // The hour is worth its figures without the page, too.
        .catch((error: unknown) => [{ name: 'page: panning', value: `failed: ${String(error)}` }]),
    ])
    await load.stop()
    return [
      ...memory,
      ...page,
      ...(await storedFigures(stack, ingest, seeded)),
      { name: 'reports not accepted', value: load.whyRefused() },
    ]
  } finally {
    await load.stop()
    await api.close()
    await ingest.stop()
  }
}

/** The requests of a map page at several zooms, a list, a search and one device. */
const mapPaths = ({ organizationId, deviceIds }: MillionFleet, round: number): string[] => [
  ...[0, 5, 10, 14].map((zoom) => tilePath(organizationId, zoom, round)),
  `/devices?orgId=${organizationId}&limit=50`,
  `/devices?orgId=${organizationId}&q=oslo`,
  `/api/router/${deviceIds[(round * 7919) % deviceIds.length]}/telemetry/latest`,
]
