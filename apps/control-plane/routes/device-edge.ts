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
  reportPath,
} from '#device-edge/contract'
import { reportSchema } from '#telemetry/schemas'
import { type Route, route } from '../http/route.ts'

const tag = 'Device edge'

const forward: Route['handle'] = ({ services, http, ctx, admission: { terms, tokenDigest } }) =>
  services.deviceEdge.forward(http, ctx.requestId, {
    ...terms,
    ...(tokenDigest === undefined
      ? { maxBytes: maxJsonBodyBytes }
      : { onRefused: () => services.deviceAdmission.forget(tokenDigest) }),
  })

const json = ['application/json']
const disabled = { 403: { description: 'The device is disabled (`device_disabled`).' } }

/** What routers call. The device edge answers; it stands under the same base address for their convenience. */
export const deviceEdgeRoutes: Route[] = [
  route({
    method: 'post',
    path: reportPath,
    summary: 'Report telemetry',
    description:
      'Up to 1,000 samples and 1 MiB, also as NDJSON, also gzip or zstd. Samples that cannot be used are listed in `rejected`; the others are stored durably before the answer.',
    tag,
    access: 'device',
    passedBody: { mediaTypes: [...json, 'application/x-ndjson'], schema: reportSchema },
    answers: {
      202: {
        description: 'Stored durably.',
        schema: reportAnswer,
      },
      402: { description: 'The organization’s subscription ended more than 30 days ago.' },
      ...disabled,
    },
    example: {
      body: { samples: [{ kind: 'cellular', ts: '2026-05-04T12:30:00Z', rat: 'lte', rsrpDbm: -97, sinrDb: 8.5 }] },
      answer: { accepted: 1, rejected: [], jobsPending: 0 },
    },
    handle: forward,
  }),
  route({
    method: 'post',
    path: enrollPath,
    summary: 'Enroll a router with an enrollment key',
    tag,
    access: 'public',
    passedBody: {
      mediaTypes: json,
      schema: enrollment,
    },
    answers: {
      201: { description: 'The token is shown once.', schema: enrollmentAnswer },
      401: { description: 'The enrollment key is wrong, expired or revoked.' },
      402: { description: 'The organization’s subscription is suspended or cancelled.' },
      403: { description: 'The key does not allow it (`enrollment_refused`), or the quota is used up.' },
      409: { description: 'The serial has a token already.' },
      429: { description: 'Too many failed attempts from this address.' },
    },
    example: { body: { enrollmentKey: 'fle_…', serial: 'SN-0042', model: 'RX-500' } },
    handle: forward,
  }),
  route({
    method: 'get',
    path: nextJobPath,
    summary: 'Take the next job, waiting for one',
    tag,
    access: 'device',
    passedQuery: nextJobQuery,
    answers: {
      200: {
        description: 'A job, now in progress. `apply_config` carries its profile with secrets.',
        schema: nextJobAnswer,
      },
      204: { description: 'None came.' },
      ...disabled,
    },
    handle: forward,
  }),
  route({
    method: 'post',
    path: jobStatusPath,
    summary: 'Report on a job',
    tag,
    access: 'device',
    passedBody: {
      mediaTypes: json,
      schema: jobStatus,
    },
    answers: {
      200: {
        description: 'Noted; also for a repetition.',
        schema: jobStatusAnswer,
      },
      404: { description: 'No such job of this device.' },
      409: { description: 'The attempt is stale, or the job ended otherwise.' },
      ...disabled,
    },
    example: {
      body: { attempt: 1, status: 'succeeded', progress: 100 },
      answer: { status: 'succeeded', cancelRequested: false },
    },
    handle: forward,
  }),
  route({
    method: 'get',
    path: deviceConfigPath,
    summary: 'The config profile last applied to the device',
    tag,
    access: 'device',
    answers: {
      200: { description: 'With secrets.', schema: configAnswer, headers: ['ETag'] },
      204: { description: 'None was applied.' },
      304: { description: 'Still what `If-None-Match` names.' },
      ...disabled,
    },
    handle: forward,
  }),
]
