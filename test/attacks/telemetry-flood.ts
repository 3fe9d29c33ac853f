import { setTimeout as delay } from 'node:timers/promises'
import type { AttackerClient } from './attacker-client.ts'
import type { TenantDevice } from './tenant.ts'

export type FloodReport = { body: Buffer | string; headers?: Record<string, string> }

const pauseAfterRefusalMs = 250

/**
 * Sends reports from all devices concurrently, as fast as the service accepts them. Returns the number of accepted samples.
 * `next` returns the report of a device with this number (from 0), or undefined to stop.
 */
export async function flood(options: {
  client: AttackerClient
  url: string
  devices: readonly TenantDevice[]
  durationMs: number
  inFlight: number
  signal: AbortSignal
  next(deviceIndex: number, number: number): FloodReport | undefined
}): Promise<number> {
  const { client, url, devices, inFlight, signal, next } = options
  const endMs = Date.now() + options.durationMs
  let accepted = 0

  async function sendAll(deviceIndex: number, { token }: TenantDevice): Promise<void> {
    let number = 0
    const one = async () => {
      while (Date.now() < endMs && !signal.aborted) {
        const report = next(deviceIndex, number++)
        if (report === undefined) return
        const answer = await client.call({
          url: `${url}/telemetry`,
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...report.headers },
          body: report.body,
        })
        if (answer?.status === 202) accepted += Number(JSON.parse(answer.body).accepted)
        // An attacker does not respect Retry-After.
        else await delay(pauseAfterRefusalMs)
      }
    }
    await Promise.all(Array.from({ length: inFlight }, one))
  }

  await Promise.all(devices.map((device, index) => sendAll(index, device)))
  return accepted
}
