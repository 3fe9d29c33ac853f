import type { Registry } from 'prom-client'
import { gaugeOf } from '#http/metrics'
import type { Mailbox } from './mailbox.ts'

/** Registers the number of devices that wait for jobs. */
export function registerMailboxMetrics(registry: Registry, mailbox: Mailbox): void {
  const help = 'Devices that wait for a job in a long poll.'
  gaugeOf(registry, 'job_channel_waiting_devices', help, mailbox.waitingCount)
}
