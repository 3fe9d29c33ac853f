import { Agent, request } from 'undici'
import type { Secret } from '#core/secret'
import { jobStatusPath, nextJobPath } from '#device-edge/contract'
import { isOverDeviceRate } from '#device-edge/device-rate'
import { type DeviceIdentity, gatewayDeviceHeader, gatewayReceivedHeader, identityHeader } from '#device-edge/gateway'
import { type Protocol, reportPathOf } from './protocol.ts'

type Report = { device: DeviceIdentity; protocol: Protocol; body: Buffer; receivedAtMs: number }

/** `isOverRate`: the device has sent too many reports. `body`: the parsed JSON; undefined if there is none. */
export type ServiceAnswer = { status: number; isOverRate: boolean; retryAfterMs: number | undefined; body: unknown }

/** The device edge, as a gateway uses it. Rejects if there is no answer. */
export type ServiceClient = {
  report(report: Report, signal: AbortSignal): Promise<ServiceAnswer>
  nextJob(device: DeviceIdentity, signal: AbortSignal): Promise<ServiceAnswer>
  reportJob(device: DeviceIdentity, jobId: string, body: Buffer, signal: AbortSignal): Promise<ServiceAnswer>
  close(): Promise<void>
}

/** Each holds at most one report, so this also bounds the reports that wait for one sync of the log. */
const connections = 64
const connectLimitMs = 2_000
/** Longer than the service needs for a large report in a full line. */
const answerLimitMs = 30_000

/** Opens keep-alive connections to the service. */
export function openServiceClient(baseUrl: string, key: Secret): ServiceClient {
  const dispatcher = new Agent({
    connections,
    pipelining: 1,
    connect: { timeout: connectLimitMs },
    headersTimeout: answerLimitMs,
    bodyTimeout: answerLimitMs,
  })
  const base = baseUrl.replace(/\/$/, '')

  async function call(
    method: 'GET' | 'POST',
    path: string,
    device: DeviceIdentity,
    { body, headers = {}, signal }: { body?: Buffer; headers?: Record<string, string>; signal: AbortSignal },
  ): Promise<ServiceAnswer> {
    const answer = await request(base + path, {
      dispatcher,
      method,
      headers: {
        authorization: `Bearer ${key.reveal()}`,
        [gatewayDeviceHeader]: identityHeader(device),
        'content-type': 'application/json',
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
      signal,
    })
    const text = await answer.body.text()
    const seconds = Number(answer.headers['retry-after'] ?? Number.NaN)
    return {
      status: answer.statusCode,
      isOverRate: isOverDeviceRate(answer.statusCode, answer.headers['ratelimit-policy']),
      retryAfterMs: Number.isFinite(seconds) ? seconds * 1_000 : undefined,
      body: parsed(text),
    }
  }

  return {
    report: ({ device, protocol, body, receivedAtMs }, signal) =>
      call('POST', reportPathOf(protocol), device, {
        body,
        headers: { [gatewayReceivedHeader]: String(receivedAtMs) },
        signal,
      }),
    nextJob: (device, signal) => call('GET', `${nextJobPath}?waitSeconds=0`, device, { signal }),
    reportJob: (device, jobId, body, signal) =>
      call('POST', jobStatusPath.replace(':id', encodeURIComponent(jobId)), device, { body, signal }),
    close: () => dispatcher.destroy(),
  }
}

function parsed(text: string): unknown {
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch {
    return undefined
  }
}
