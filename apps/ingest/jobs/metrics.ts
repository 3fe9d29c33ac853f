import { Gauge, type Registry } from 'prom-client'
import type { Mailbox } from './mailbox.ts'

/** How many devices wait for jobs right now. */
export function registerMailboxMetrics(registry: Registry, mailbox: Mailbox): void {
  new Gauge({
    name: 'job_channel_waiting_devices',
    help: 'Devices whose request for a job waits for one.',
    registers: [registry],
    collect() {
      this.set(mailbox.waitingCount())
    },
  })
}
