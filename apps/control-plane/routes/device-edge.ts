import { type Route, route } from '../route.ts'

const tag = 'Device edge'
const forward: Route['handle'] = ({ services, http, ctx }) => services.deviceEdge.forward(http, ctx.requestId)

/** What routers call. The device edge answers; it stands under the same base address for their convenience. */
export const deviceEdgeRoutes: Route[] = [
  route({
    method: 'post',
    path: '/telemetry',
    summary: 'Report telemetry',
    tag,
    access: 'device',
    passedBody: { mediaTypes: ['application/json', 'application/x-ndjson'] },
    answers: { 202: { description: 'Stored durably; what could not be accepted is listed.' } },
    handle: forward,
  }),
  route({
    method: 'post',
    path: '/device/enroll',
    summary: 'Enroll a router with an enrollment key',
    tag,
    access: 'public',
    passedBody: { mediaTypes: ['application/json'] },
    answers: { 201: { description: 'The device id and its token, shown once.' } },
    handle: forward,
  }),
  route({
    method: 'get',
    path: '/device/jobs/next',
    summary: 'Take the next job, waiting for one',
    tag,
    access: 'device',
    answers: { 200: { description: 'A job.' }, 204: { description: 'None came.' } },
    handle: forward,
  }),
  route({
    method: 'post',
    path: '/device/jobs/:id/status',
    summary: 'Report on a job',
    tag,
    access: 'device',
    passedBody: { mediaTypes: ['application/json'] },
    answers: { 200: { description: 'Noted.' } },
    handle: forward,
  }),
  route({
    method: 'get',
    path: '/device/config',
    summary: 'The config profile last applied to the device',
    tag,
    access: 'device',
    answers: { 200: { description: 'With secrets.' }, 204: { description: 'None was applied.' } },
    handle: forward,
  }),
]
