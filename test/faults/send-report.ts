import { setTimeout as delay } from 'node:timers/promises'

const tries = 50
const pauseMs = 100

/**
 * Sends a report and returns the status of its answer. On a connection that just closed there is none, and the report is sent again,
 * as a router does. Throws if ingest does not respond for 5 s.
 */
export async function sendReport(ingestUrl: string, token: string | undefined, report: object): Promise<number> {
  const request = {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(report),
  }
  for (let left = tries; ; left--) {
    try {
      return (await fetch(`${ingestUrl}/telemetry`, request)).status
    } catch (error) {
      if (left === 1) throw error
      await delay(pauseMs)
    }
  }
}
