import {
  configAnswer,
  deviceConfigPath,
  enrollment,
  enrollmentAnswer,
  enrollPath,
  jobStatus,
  jobStatusAnswer,
  jobStatusPath,
  maxJsonBodyBytes,
  nextJobAnswer,
  nextJobPath,
  nextJobQuery,
  reportAnswer,
  reportedConfig,
  reportedConfigAnswer,
  reportPath,
} from '#device-edge/contract'
import { reportSchema } from '#telemetry/report/schemas'
import { type Route, route } from '../../http/route.ts'

const tag = 'Device edge'

/** Forwards a request of a router to the device edge. */
export const forwardToDeviceEdge: Route['handle'] = ({
  services,
  http,
  ctx,
  admission: { terms, tokenDigest, authorization },
}) =>
  services.deviceEdge.forward(http, ctx.requestId, {
    ...terms,
    authorization,
    ...(tokenDigest === undefined
      ? { maxBytes: maxJsonBodyBytes }
      : { onRefused: () => services.deviceAdmission.forget(tokenDigest) }),
  })

const json = ['application/json']
const disabled = { 403: { description: 'The device is disabled (`device_disabled`).' } }
const notForGateway = {
  403: {
    description:
      'The device is disabled (`device_disabled`), or a gateway asks for a device that has a token of its own (`device_has_token`).',
  },
}

/** The routes of routers. The device edge handles them under the same base address. */
export const deviceEdgeRoutes: Route[] = [
  route({
    method: 'post',
    path: reportPath,
    operationId: 'reportTelemetry',
    summary: 'Report telemetry',
    description:
      'Send up to 1,000 samples and 1 MiB as JSON or NDJSON, optionally compressed with gzip or zstd. Invalid samples are listed in `rejected`; all other samples are stored durably before the response is sent.',
    tag,
    access: 'device',
    passedBody: { mediaTypes: [...json, 'application/x-ndjson'], schema: reportSchema },
    answers: {
      202: {
        description: 'The accepted samples are stored durably.',
        schema: reportAnswer,
      },
      402: { description: 'The organization’s subscription ended more than 30 days ago.' },
      ...disabled,
    },
    example: {
      body: { samples: [{ kind: 'cellular', ts: '2026-05-04T12:30:00Z', rat: 'lte', rsrpDbm: -97, sinrDb: 8.5 }] },
      answer: { accepted: 1, rejected: [], jobsPending: 0 },
    },
    handle: forwardToDeviceEdge,
  }),
  route({
    method: 'post',
    path: enrollPath,
    summary: 'Enroll a router with an enrollment key',
    description:
      'A router that did not receive the response repeats the request. With the same `nonce` within 24 hours, it receives the same device and a new token.',
    tag,
    access: 'public',
    passedBody: {
      mediaTypes: json,
      schema: enrollment,
    },
    answers: {
      201: { description: 'The device and its token, which is returned only once.', schema: enrollmentAnswer },
      401: { description: 'The enrollment key is wrong, expired or revoked.' },
      402: { description: 'The organization’s subscription is suspended or cancelled.' },
      403: {
        description: 'The key does not allow this router (`enrollment_refused`), or the device quota is reached.',
      },
      409: {
        description:
          'A device with this serial already has a token (`already_enrolled`), and the enrollment does not repeat one with the same `nonce` in the last 24 hours.',
      },
      429: { description: 'Too many failed attempts from this address.' },
    },
    example: {
      body: {
        enrollmentKey: 'fle_…',
        serial: 'SN-0042',
        model: 'RX-500',
        nonce: '7d0c93f1b25e4a86a1f9c4e8d3b06527',
      },
    },
    handle: forwardToDeviceEdge,
  }),
  route({
    method: 'get',
    path: nextJobPath,
    operationId: 'getNextJob',
    summary: 'Get the next job, with long polling',
    tag,
    access: 'device',
    passedQuery: nextJobQuery,
    answers: {
      200: {
        description: 'A job, which is now in progress. An `apply_config` job contains its profile with secrets.',
        schema: nextJobAnswer,
      },
      204: { description: 'No job arrived within `waitSeconds`.' },
      ...notForGateway,
    },
    handle: forwardToDeviceEdge,
  }),
  route({
    method: 'post',
    path: jobStatusPath,
    operationId: 'reportJobStatus',
    summary: 'Report the status of a job',
    tag,
    access: 'device',
    passedBody: {
      mediaTypes: json,
      schema: jobStatus,
    },
    answers: {
      200: {
        description: 'The report was recorded. Repeating a report returns the same response.',
        schema: jobStatusAnswer,
      },
      404: {
        description: 'The device has no job with this id, or a gateway’s key opens no such device (`device_unknown`).',
      },
      409: { description: 'The attempt is outdated, or the job has ended with another status.' },
      ...notForGateway,
    },
    example: {
      body: { attempt: 1, status: 'succeeded', progress: 100 },
      answer: { status: 'succeeded', cancelRequested: false },
    },
    handle: forwardToDeviceEdge,
  }),
  route({
    method: 'get',
    path: deviceConfigPath,
    operationId: 'getAppliedConfig',
    summary: 'Get the config profile last applied to the device',
    tag,
    access: 'device',
    answers: {
      200: { description: 'The profile with secrets.', schema: configAnswer, headers: ['ETag'] },
      204: { description: 'No profile has been applied.' },
      304: { description: 'The profile has not changed since the version in `If-None-Match`.' },
      409: { description: 'The profile that was last applied was deleted (`profile_gone`). Keep the present config.' },
      ...notForGateway,
    },
    handle: forwardToDeviceEdge,
  }),
  route({
    method: 'put',
    path: deviceConfigPath,
    operationId: 'reportConfig',
    summary: 'Report the config that the device runs',
    description:
      'After a profile was applied, at each start, and when the config changes on the device. Secrets in `settings` are not stored.',
    tag,
    access: 'device',
    passedBody: { mediaTypes: json, schema: reportedConfig },
    answers: {
      200: { description: 'The report was stored. Repeating it has no effect.', schema: reportedConfigAnswer },
      ...notForGateway,
    },
    example: {
      body: {
        profileId: '0198c0de-7a11-7c3e-9f00-5e3d2b1a0c4f',
        version: 3,
        digest: `sha256:${'0'.repeat(64)}`,
      },
      answer: { state: 'differs' },
    },
    handle: forwardToDeviceEdge,
  }),
]
