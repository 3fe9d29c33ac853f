import { performance } from 'node:perf_hooks'
import mqtt, { type MqttClient } from 'mqtt'

/** Many devices with one connection each. `serials` name them. */
export type CrowdOrder = { brokerUrl: string; serials: string[]; messagesPerSecond: number; seconds: number }

/** `sent`: reports with different times. Each is repeated until the service has answered it. */
export type CrowdReport = {
  sent: number
  answered: number
  repeated: number
  connections: number
  /** From the sample to the answer of the service, in the order of the answers. */
  answerMs: number[]
}

type Device = {
  serial: string
  client: MqttClient
  /** It is connected, and the broker has its subscription of answers. */
  isListening: boolean
  open: Map<string, Report>
}

/** `sentMs`: the last delivery to the client; null while there was no connection. */
type Report = { body: string; takenMs: number; sentMs: number | null }

const repeatAfterMs = 15_000
const connectedWithinMs = 120_000
const answersWithinMs = 180_000
const connectsPerSecond = 500

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Connects the devices, lets them report at an even rate, and waits for all answers. A device keeps a report until the service
 * has answered it over the response topic, and publishes it again otherwise.
 */
async function run({ brokerUrl, serials, messagesPerSecond, seconds }: CrowdOrder): Promise<CrowdReport> {
  const report: CrowdReport = { sent: 0, answered: 0, repeated: 0, connections: 0, answerMs: [] }
  const devices: Device[] = []
  for (const [index, serial] of serials.entries()) {
    devices.push(connectDevice(brokerUrl, serial, report))
    if (index % 50 === 49) await pause((50 * 1_000) / connectsPerSecond)
  }
  const giveUpMs = performance.now() + connectedWithinMs
  const missing = () => devices.filter(({ isListening }) => !isListening).length
  while (missing() > 0 && performance.now() < giveUpMs) await pause(100)
  if (missing() > 0) throw new Error(`${missing()} of ${devices.length} devices could not connect.`)
  process.send?.('connected')

  const startMs = performance.now()
  let sequence = 0
  while (performance.now() - startMs < seconds * 1_000) {
    const due = Math.floor(((performance.now() - startMs) / 1_000) * messagesPerSecond)
    for (; sequence < due; sequence += 1) {
      const device = devices[sequence % devices.length]
      if (!device) continue
      // The time differs for each report of a device.
      const ts = Date.now()
      const id = String(sequence)
      const body = JSON.stringify({ samples: [{ kind: 'system', ts, cpuPct: sequence % 100, uptimeS: sequence }] })
      const taken = { body, takenMs: performance.now(), sentMs: null }
      device.open.set(id, taken)
      report.sent += 1
      publish(device, id, taken)
    }
    repeatUnanswered(devices, report)
    await pause(10)
  }
  const endMs = performance.now() + answersWithinMs
  while (devices.some(({ open }) => open.size > 0) && performance.now() < endMs) {
    repeatUnanswered(devices, report)
    await pause(100)
  }
  await Promise.all(devices.map(({ client }) => client.endAsync(true)))
  return report
}

function connectDevice(brokerUrl: string, serial: string, report: CrowdReport): Device {
  const client = mqtt.connect(brokerUrl, {
    protocolVersion: 5,
    clientId: `device-${serial}`,
    clean: true,
    keepalive: 120,
    reconnectPeriod: 500 + Math.floor(Math.random() * 3_000),
    connectTimeout: 60_000,
    queueQoSZero: false,
  })
  const device: Device = { serial, client, isListening: false, open: new Map() }
  const answers = `routerfleet/${serial}/answers`
  client.on('connect', () => {
    report.connections += 1
    client.subscribe(answers, { qos: 0 }, (error) => {
      device.isListening = !error && client.connected
    })
  })
  client.on('close', () => {
    device.isListening = false
  })
  client.on('error', () => {})
  client.on('message', (_topic, payload, packet) => {
    const id = packet.properties?.correlationData?.toString() ?? ''
    const sent = device.open.get(id)
    if (!sent || JSON.parse(payload.toString()).accepted !== 1) return
    device.open.delete(id)
    report.answered += 1
    report.answerMs.push(performance.now() - sent.takenMs)
  })
  return device
}

function publish({ client, serial, isListening }: Device, id: string, waiting: Report): void {
  if (!isListening) return
  waiting.sentMs = performance.now()
  const properties = { responseTopic: `routerfleet/${serial}/answers`, correlationData: Buffer.from(id) }
  client.publish(`routerfleet/${serial}/telemetry`, waiting.body, { qos: 1, properties }, () => {})
}

/** Sends what was taken without a connection, and repeats what has no answer. */
function repeatUnanswered(devices: readonly Device[], report: CrowdReport): void {
  const nowMs = performance.now()
  for (const device of devices) {
    if (!device.isListening) continue
    for (const [id, waiting] of device.open) {
      if (waiting.sentMs !== null && nowMs - waiting.sentMs < repeatAfterMs) continue
      if (waiting.sentMs !== null) report.repeated += 1
      publish(device, id, waiting)
    }
  }
}

process.on('message', (order: CrowdOrder) => {
  void run(order).then((report) => process.send?.(report, () => process.exit(0)))
})
