import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'

/** What a load has done. Only what was acknowledged counts. */
type Acknowledged = {
  /** Ids of devices that were created. */
  devices: string[]
  /** Times of samples that were accepted, by device. */
  samples: Map<string, string[]>
  /** Ids of jobs that were created, and of those that their device reported as succeeded. */
  jobs: string[]
  succeeded: string[]
}

export type UpgradeLoad = {
  acknowledged: Acknowledged
  /** Responses that no caller may see during an upgrade: neither 2xx nor 503. */
  failures: string[]
  /** How often a request was repeated because of a 503 or a lost connection. */
  repeated(): number
  stop(): Promise<void>
}

export type LoadTarget = {
  /** The replicas of the control plane that a load balancer sends requests to. */
  urls(): readonly string[]
  adminKey: string
  organizationId: string
  devices: readonly { id: string; token: string }[]
}

const longestOutageMs = 60_000

/** Creates devices and jobs, sends reports, and finishes the jobs as their devices, until it is stopped. */
export function startUpgradeLoad({ urls, adminKey, organizationId, devices }: LoadTarget): UpgradeLoad {
  const acknowledged: Acknowledged = { devices: [], samples: new Map(), jobs: [], succeeded: [] }
  const failures: string[] = []
  const stopping = new AbortController()
  let repeated = 0
  let turn = 0

  /** Sends a request to the replicas in turn until one of them answers. Returns undefined for an unexpected response. */
  async function send(token: string, method: string, path: string, json?: unknown) {
    const giveUpAtMs = Date.now() + longestOutageMs
    const key = randomUUID()
    for (;;) {
      const all = urls()
      turn += 1
      const answer = await attempt(`${all[turn % all.length]}${path}`, token, method, json, key)
      if (answer && answer.status >= 200 && answer.status < 300) return answer
      if (answer && answer.status !== 503) {
        failures.push(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
        return undefined
      }
      if (Date.now() > giveUpAtMs) {
        failures.push(`${method} ${path}: no answer for ${longestOutageMs / 1000} s`)
        return undefined
      }
      repeated += 1
      await pause(50)
    }
  }

  async function createDevices(): Promise<void> {
    const serial = randomUUID()
    const body = { organizationId, serial, name: serial, model: 'RX' }
    const created = await send(adminKey, 'POST', '/devices', body)
    if (created) acknowledged.devices.push(created.body.id)
    await send(adminKey, 'GET', `/devices?orgId=${organizationId}&limit=20`)
  }

  async function report(): Promise<void> {
    for (const { id, token } of devices) {
      const ts = new Date().toISOString()
      const samples = [{ kind: 'location', ts, lat: 51.8, lon: -8.2, fix: '3d', accuracyM: 4 }]
      if (await send(token, 'POST', '/telemetry', { samples }))
        acknowledged.samples.set(id, [...(acknowledged.samples.get(id) ?? []), ts])
    }
  }

  async function createJobs(): Promise<void> {
    for (const { id } of devices) {
      const created = await send(adminKey, 'POST', `/devices/${id}/jobs`, { kind: 'collect_diagnostics' })
      if (created) acknowledged.jobs.push(created.body.id)
    }
  }

  async function finishJobs({ token }: { token: string }): Promise<void> {
    const next = await send(token, 'GET', '/device/jobs/next?waitSeconds=1')
    if (next?.status !== 200) return
    const { id, attempt } = next.body
    if (await send(token, 'POST', `/device/jobs/${id}/status`, { attempt, status: 'succeeded' }))
      acknowledged.succeeded.push(id)
  }

  const repeat = async (work: () => Promise<void>, everyMs: number) => {
    for (; !stopping.signal.aborted; await pause(everyMs)) await work()
  }
  const lanes = [
    repeat(createDevices, 20),
    repeat(report, 100),
    repeat(createJobs, 500),
    ...devices.map((device) => repeat(() => finishJobs(device), 20)),
  ]
  return {
    acknowledged,
    failures,
    repeated: () => repeated,
    async stop() {
      stopping.abort()
      await Promise.all(lanes)
    },
  }
}

// biome-ignore lint/suspicious/noExplicitAny: answers have many shapes.
type Answer = { status: number; body: any }

/** Undefined if the replica does not respond. The key makes the repetition of a request harmless. */
async function attempt(
  url: string,
  token: string,
  method: string,
  json: unknown,
  key: string,
): Promise<Answer | undefined> {
  try {
    const response = await fetch(url, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(json === undefined ? {} : { 'content-type': 'application/json', 'idempotency-key': key }),
      },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      signal: AbortSignal.timeout(30_000),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
  } catch {
    return undefined
  }
}
