import { type Command, Option } from 'commander'
import type { components } from '../openapi.ts'
import { CommandError, exitCodes } from './exit-codes.ts'

type NewJobDelivery = components['schemas']['NewJobDelivery']

export type DeliveryOptions = { waitFor?: string; minQuality?: string; latest?: string; atLatest?: string }

const moments: Record<string, NewJobDelivery['when']> = {
  'good-signal': 'goodSignal',
  dwell: 'dwell',
  'good-signal-and-dwell': 'goodSignalAndDwell',
}

/** Adds the options with which jobs wait for a good moment. */
export const withDelivery = (command: Command): Command =>
  command
    .addOption(
      new Option('--wait-for <moment>', 'each router takes its job at such a moment').choices(Object.keys(moments)),
    )
    .addOption(
      new Option('--min-quality <quality>', 'with --wait-for: a good signal').choices([
        'poor',
        'fair',
        'good',
        'excellent',
      ]),
    )
    .option('--latest <time>', 'with --wait-for: when waiting ends, such as 2026-12-01T04:00:00Z')
    .addOption(new Option('--at-latest <what>', 'with --latest: what follows then').choices(['deliver', 'expire']))

/** The `delivery` of a request; nothing without `--wait-for`. */
export function deliveryOf({ waitFor, minQuality, latest, atLatest }: DeliveryOptions): { delivery?: NewJobDelivery } {
  const when = moments[waitFor ?? '']
  if (when !== undefined) {
    const delivery = { when, minQuality, latestAt: latest, atLatest }
    // The service checks the values.
    return {
      delivery: Object.fromEntries(
        Object.entries(delivery).filter(([, value]) => value !== undefined),
      ) as NewJobDelivery,
    }
  }
  if (minQuality !== undefined || latest !== undefined || atLatest !== undefined)
    throw new CommandError('--min-quality, --latest and --at-latest need --wait-for.', exitCodes.usage)
  return {}
}
