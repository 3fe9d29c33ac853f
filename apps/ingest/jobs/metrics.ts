import { Gauge, type Registry } from 'prom-client'
import type { Mailbox } from './mailbox.ts'

/** Registers the number of devices that wait for jobs. */
export function registerMailboxMetrics(registry: Registry, mailbox: Mailbox): void {
  new Gauge({
    name: 'job_channel_waiting_devices',
    help: 'Devices that wait for a job in a long poll.',
    registers: [registry],
    collect() {
      this.set(mailbox.waitingCount())
    },
  })
}
