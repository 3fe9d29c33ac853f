import type { World } from './world.ts'

/**
 * How the matrix tries a route. `id` says what stands in the path's own `{id}`; `json` is a body that would be accepted
 * from the right caller; `foreign` is what another organization's caller gets, 404 unless said.
 */
export type Entry = {
  id?: keyof World
  json?: (world: World) => unknown
  body?: { type: string; text: string }
  query?: (world: World) => string
  /** 'own': 200 with nothing of the world in it. 'created': 201, likewise. 'open': 200 for any authenticated caller. */
  foreign?: 403 | 'own' | 'created' | 'open'
  /** For a POST that honours Idempotency-Key and has a body: another body that would be accepted. */
  otherJson?: (world: World) => unknown
  otherBody?: string
  /** For a POST that does not honour Idempotency-Key, because it creates nothing: why repeating it does no harm. */
  createsNothing?: string
  /** Needs no credentials at all, or checks others (client credentials, enrollment key, device token) itself. */
  unguarded?: true
}

const name = () => ({ name: 'Renamed' })
const otherName = () => ({ name: 'Other' })
const onceStored = 'A sample with the same time is stored once.'
const sameState = 'The object has the same state after a repetition.'
const area = { type: 'Circle', lat: 51.9, lon: 4.1, radiusM: 500 }
const condition = { kind: 'offline', forMinutes: 30 }
const image = { version: '7.2', url: 'https://downloads.example.com/fw.bin', sha256: 'a'.repeat(64) }
const variables = () => ({ variables: { ssid: 'depot' } })
const reboot = () => ({ kind: 'reboot' })
const speedTest = () => ({ kind: 'speed_test' })

/** Every route of the control plane, by method and path as `/openapi.json` writes them. A route not here fails the test. */
export const entries: Record<string, Entry> = {
  'POST /orgs': { json: name, otherJson: otherName, foreign: 403 },
  'GET /orgs': { foreign: 'own' },
  'GET /orgs/{orgId}': {},
  'PATCH /orgs/{orgId}': { json: name },
  'PUT /orgs/{orgId}/subscription': { json: () => ({ plan: 'pro', status: 'active' }) },
  'GET /orgs/{orgId}/usage': {},
  'GET /plans': { foreign: 'open' },
  'GET /map-settings': { foreign: 403 },
  'PUT /map-settings': { foreign: 403, json: () => ({ background: { kind: 'offline' } }) },
  'GET /orgs/{orgId}/audit': {},
  'GET /audit': { foreign: 403 },
  'POST /orgs/{orgId}/tool-calls': {
    json: () => ({ tool: 'find_devices' }),
    otherJson: () => ({ tool: 'list_alerts' }),
  },
  'POST /orgs/{orgId}/api-keys': {
    json: () => ({ name: 'K', scopes: ['device:read'] }),
    otherJson: () => ({ name: 'K', scopes: ['job:read'] }),
  },
  'GET /orgs/{orgId}/api-keys': {},
  'POST /orgs/{orgId}/api-keys/{id}/rotate': {
    id: 'apiKeyId',
    json: () => ({}),
    otherJson: () => ({ oldKeyExpiresInMinutes: 0 }),
  },
  'DELETE /orgs/{orgId}/api-keys/{id}': { id: 'apiKeyId' },
  'POST /orgs/{orgId}/enrollment-keys': {
    json: () => ({ name: 'E', autoCreate: false }),
    otherJson: () => ({ name: 'E', autoCreate: true }),
  },
  'GET /orgs/{orgId}/enrollment-keys': {},
  'DELETE /orgs/{orgId}/enrollment-keys/{id}': { id: 'enrollmentKeyId' },
  'GET /orgs/{orgId}/people': {},
  'PATCH /orgs/{orgId}/people/{id}': { id: 'personId', json: () => ({ role: 'viewer' }) },
  'DELETE /orgs/{orgId}/people/{id}': { id: 'personId' },
  'POST /orgs/{orgId}/people/{id}/sign-in-links': { id: 'personId' },
  'POST /orgs/{orgId}/invitations': {
    json: () => ({ email: 'new@example.com', role: 'viewer' }),
    otherJson: () => ({ email: 'other@example.com', role: 'viewer' }),
  },
  'GET /orgs/{orgId}/invitations': {},
  'DELETE /orgs/{orgId}/invitations/{id}': { id: 'invitationId' },
  'POST /auth/invitation-links': { unguarded: true, createsNothing: 'Reads what a link is about.' },
  'POST /auth/invitation-acceptances': { unguarded: true, createsNothing: 'Uses a link up, which works once.' },
  'POST /auth/sign-in-mails': { unguarded: true, createsNothing: 'A person gets at most five messages an hour.' },
  'POST /auth/token': { unguarded: true, createsNothing: 'Exchanges credentials for a token, which is not stored.' },
  'GET /.well-known/jwks.json': { unguarded: true },
  'POST /auth/sign-in-links': { foreign: 'created' },
  'POST /auth/session': { unguarded: true, createsNothing: 'Signs in with a link, which works once.' },
  'GET /auth/session': { unguarded: true },
  'DELETE /auth/session': { unguarded: true },
  'GET /auth/me': { foreign: 'own' },
  'PATCH /auth/me': { json: name, foreign: 403 },
  'GET /auth/sessions': { foreign: 'own' },
  'DELETE /auth/sessions/{id}': { id: 'sessionId' },
  'GET /sessions': { foreign: 403 },
  'DELETE /sessions/{id}': { id: 'sessionId', foreign: 403 },
  'GET /orgs/{orgId}/sessions': {},
  'DELETE /orgs/{orgId}/sessions/{id}': { id: 'sessionId' },
  'GET /auth/oidc/start': { unguarded: true },
  'GET /auth/oidc/callback': { unguarded: true },
  'GET /auth/oidc/sign-out': { unguarded: true },

  'GET /devices': { foreign: 'own' },
  'POST /devices': {
    json: ({ orgId }) => ({ organizationId: orgId, serial: 'S', name: 'R', model: 'M' }),
    otherJson: ({ orgId }) => ({ organizationId: orgId, serial: 'S2', name: 'R', model: 'M' }),
  },
  'GET /devices/export': { query: () => '?format=csv', foreign: 'own' },
  'POST /devices/import': {
    body: { type: 'text/csv', text: 'serial,name,model,tags\nI-1,R,M,\n' },
    otherBody: 'serial,name,model,tags\nI-2,R,M,\n',
    query: ({ orgId }) => `?orgId=${orgId}`,
  },
  'GET /devices/{id}': { id: 'deviceId' },
  'PATCH /devices/{id}': { id: 'deviceId', json: name },
  'POST /devices/{id}/transfer': {
    id: 'deviceId',
    json: ({ orgId }) => ({ toOrgId: orgId }),
    otherJson: ({ orgId }) => ({ toOrgId: orgId, reason: 'Sold' }),
  },
  'DELETE /devices/{id}': { id: 'deviceId' },
  'POST /devices/{id}/token': { id: 'deviceId', json: () => ({}), otherJson: () => ({ revoke: true }) },
  'GET /devices/{id}/identifiers': { id: 'deviceId' },
  'PUT /devices/{id}/identifiers': { id: 'deviceId', json: () => ({ imei: ['352099001761481'] }) },
  'POST /devices/{id}/jobs': { id: 'deviceId', json: reboot, otherJson: speedTest },
  'GET /devices/{id}/jobs': { id: 'deviceId' },
  'GET /devices/{id}/events': { id: 'deviceId' },
  'GET /orgs/{orgId}/device-counts': {},
  'POST /orgs/{orgId}/device-tags': {
    json: ({ deviceId }) => ({ deviceIds: [deviceId], add: ['t'] }),
    createsNothing: 'The devices have the same tags after a repetition.',
  },
  'POST /orgs/{orgId}/device-status': {
    json: ({ deviceId }) => ({ deviceIds: [deviceId], disabled: false }),
    createsNothing: 'The devices have the same status after a repetition.',
  },
  'POST /orgs/{orgId}/device-transfers': {
    // The other tests need the device.
    query: () => '?dryRun=true',
    json: ({ deviceId, orgId }) => ({ deviceIds: [deviceId], toOrgId: orgId }),
    createsNothing: 'The devices are in the other organization after a repetition.',
  },
  'POST /orgs/{orgId}/device-deletions': {
    // The other tests need the device.
    query: () => '?dryRun=true',
    json: ({ deviceId }) => ({ deviceIds: [deviceId] }),
    createsNothing: 'The devices are gone after a repetition.',
  },
  'POST /orgs/{orgId}/job-batches': {
    json: ({ deviceId }) => ({ kind: 'reboot', deviceIds: [deviceId] }),
    otherJson: ({ deviceId }) => ({ kind: 'speed_test', deviceIds: [deviceId] }),
  },
  'GET /devices/{id}/tokens': { id: 'deviceId' },
  'DELETE /devices/{id}/tokens/{tokenId}': { id: 'deviceId' },

  'GET /orgs/{orgId}/groups': {},
  'POST /orgs/{orgId}/groups': { json: () => ({ name: 'Another' }), otherJson: otherName },
  'GET /orgs/{orgId}/groups/{id}': { id: 'groupId' },
  'PATCH /orgs/{orgId}/groups/{id}': { id: 'groupId', json: name },
  'DELETE /orgs/{orgId}/groups/{id}': { id: 'groupId' },
  'GET /orgs/{orgId}/groups/{id}/devices': { id: 'groupId' },
  'POST /orgs/{orgId}/groups/{id}/members': {
    id: 'groupId',
    json: ({ deviceId }) => ({ deviceIds: [deviceId] }),
    otherJson: ({ memberDeviceId }) => ({ deviceIds: [memberDeviceId] }),
  },
  'DELETE /orgs/{orgId}/groups/{id}/members/{deviceId}': { id: 'groupId' },
  'POST /orgs/{orgId}/groups/{id}/jobs': { id: 'groupId', json: reboot, otherJson: speedTest },

  'GET /orgs/{orgId}/places': {},
  'POST /orgs/{orgId}/places': { json: () => ({ name: 'Port', area }), otherJson: () => ({ name: 'Pier', area }) },
  'GET /orgs/{orgId}/places/{id}': { id: 'placeId' },
  'PATCH /orgs/{orgId}/places/{id}': { id: 'placeId', json: name },
  'DELETE /orgs/{orgId}/places/{id}': { id: 'placeId' },

  'GET /orgs/{orgId}/configs': {},
  'POST /orgs/{orgId}/configs': { json: () => ({ name: 'P', settings: {} }), otherJson: otherName },
  'GET /orgs/{orgId}/configs/{id}': { id: 'profileId' },
  'PATCH /orgs/{orgId}/configs/{id}': { id: 'profileId', json: name },
  'DELETE /orgs/{orgId}/configs/{id}': { id: 'profileId' },
  'GET /orgs/{orgId}/configs/{id}/versions': { id: 'profileId' },
  'POST /orgs/{orgId}/configs/{id}/roll-back': {
    id: 'profileId',
    json: () => ({ version: 1 }),
    otherJson: () => ({ version: 2 }),
  },
  'GET /orgs/{orgId}/configs/{id}/devices': { id: 'profileId' },
  'GET /orgs/{orgId}/variables': {},
  'PUT /orgs/{orgId}/variables': { json: variables },
  'GET /orgs/{orgId}/groups/{groupId}/variables': {},
  'PUT /orgs/{orgId}/groups/{groupId}/variables': { json: variables },
  'GET /devices/{id}/variables': { id: 'deviceId' },
  'PUT /devices/{id}/variables': { id: 'deviceId', json: variables },
  'GET /devices/{id}/config': { id: 'deviceId' },
  'POST /orgs/{orgId}/configs/{profileId}/apply': {
    json: ({ deviceId }) => ({ deviceIds: [deviceId] }),
    otherJson: ({ groupId }) => ({ groupId }),
  },

  'GET /orgs/{orgId}/firmware': {},
  'POST /orgs/{orgId}/firmware': {
    json: () => ({ ...image, sha256: 'b'.repeat(64) }),
    otherJson: () => ({ ...image, sha256: 'c'.repeat(64) }),
  },
  'GET /orgs/{orgId}/firmware/{id}': { id: 'firmwareImageId' },
  'DELETE /orgs/{orgId}/firmware/{id}': { id: 'firmwareImageId' },

  'GET /orgs/{orgId}/jobs': {},
  'GET /orgs/{orgId}/jobs/{id}': { id: 'jobId' },
  'POST /orgs/{orgId}/jobs/{id}/cancel': { id: 'jobId', createsNothing: sameState },
  'POST /orgs/{orgId}/jobs/{id}/retry': { id: 'jobId' },
  'GET /orgs/{orgId}/job-batches': {},
  'GET /orgs/{orgId}/job-batches/{id}': { id: 'batchId' },
  'POST /orgs/{orgId}/job-batches/{id}/cancel': { id: 'batchId', createsNothing: sameState },
  'POST /orgs/{orgId}/job-batches/{id}/pause': { id: 'batchId', createsNothing: sameState },
  'POST /orgs/{orgId}/job-batches/{id}/resume': { id: 'batchId', createsNothing: sameState },
  'POST /orgs/{orgId}/job-batches/{id}/retry': { id: 'batchId' },

  'GET /orgs/{orgId}/alert-rules': {},
  'POST /orgs/{orgId}/alert-rules': {
    json: () => ({ name: 'Offline', condition }),
    otherJson: () => ({ name: 'Away', condition }),
  },
  'GET /orgs/{orgId}/alert-rules/{id}': { id: 'alertRuleId' },
  'PATCH /orgs/{orgId}/alert-rules/{id}': { id: 'alertRuleId', json: name },
  'DELETE /orgs/{orgId}/alert-rules/{id}': { id: 'alertRuleId' },
  'GET /orgs/{orgId}/alerts': {},
  'GET /orgs/{orgId}/alert-counts': {},
  'GET /alert-counts': { foreign: 'own' },
  'GET /orgs/{orgId}/alerts/{id}': { id: 'alertId' },
  'POST /orgs/{orgId}/alerts/{id}/acknowledge': { id: 'alertId', createsNothing: sameState },
  'POST /orgs/{orgId}/alerts/{id}/close': { id: 'alertId', createsNothing: sameState },
  'PATCH /orgs/{orgId}/alerts/{id}': { id: 'alertId', json: () => ({ assignee: 'Ada' }) },
  'POST /orgs/{orgId}/alert-acknowledgements': {
    json: ({ alertId }) => ({ alertIds: [alertId] }),
    createsNothing: sameState,
  },
  'POST /orgs/{orgId}/alert-closures': { json: () => ({ filter: {} }), createsNothing: sameState },
  'GET /orgs/{orgId}/alert-addresses': {},
  'POST /orgs/{orgId}/alert-address-confirmations': {
    json: () => ({ email: 'fleet@example.com' }),
    otherJson: () => ({ email: 'night@example.com' }),
  },
  'POST /orgs/{orgId}/alert-address-tests': {
    json: () => ({ email: 'known@example.com' }),
    otherJson: () => ({ email: 'other@example.com' }),
  },
  'GET /orgs/{orgId}/chat-channels': {},
  'POST /orgs/{orgId}/chat-channels': {
    json: () => ({ name: 'Night', kind: 'slack', url: 'https://hooks.slack.com/services/T0/B0/X' }),
    otherJson: () => ({ name: 'Day', kind: 'slack', url: 'https://hooks.slack.com/services/T0/B0/X' }),
  },
  'GET /orgs/{orgId}/chat-channels/{id}': { id: 'chatChannelId' },
  'PATCH /orgs/{orgId}/chat-channels/{id}': { id: 'chatChannelId', json: name },
  'DELETE /orgs/{orgId}/chat-channels/{id}': { id: 'chatChannelId' },
  'POST /orgs/{orgId}/chat-channels/{id}/test': { id: 'chatChannelId' },
  'POST /alert-address-links': { unguarded: true, createsNothing: 'Answers the link of a message.' },

  'POST /orgs/{orgId}/webhooks': {
    json: () => ({ url: 'https://example.com/h', events: ['device.created'] }),
    otherJson: () => ({ url: 'https://example.com/h', events: ['job.finished'] }),
  },
  'GET /orgs/{orgId}/webhooks': {},
  'PATCH /orgs/{orgId}/webhooks/{id}': { id: 'webhookId', json: () => ({ description: 'Shop floor' }) },
  'POST /orgs/{orgId}/webhooks/{id}/rotate-secret': {
    id: 'webhookId',
    json: () => ({ oldSecretExpiresInMinutes: 60 }),
    otherJson: () => ({ oldSecretExpiresInMinutes: 30 }),
  },
  'DELETE /orgs/{orgId}/webhooks/{id}/old-secret': { id: 'webhookId' },
  'DELETE /orgs/{orgId}/webhooks/{id}': { id: 'webhookId' },
  'GET /orgs/{orgId}/webhooks/{id}/deliveries': { id: 'webhookId' },
  'POST /orgs/{orgId}/webhooks/{id}/test': { id: 'webhookId' },
  'POST /orgs/{orgId}/webhooks/{id}/deliveries/{deliveryId}/redeliver': { id: 'webhookId' },

  'GET /api/{modelSegment}/{deviceId}/telemetry/latest': {},
  'GET /api/{modelSegment}/{deviceId}/telemetry/history': {},
  'GET /api/{modelSegment}/{deviceId}/telemetry/data-use': {},
  'GET /api/{modelSegment}/{deviceId}/telemetry/outages': {},
  'GET /fleet/gps': { foreign: 'own' },
  'GET /fleet/gps/stream': { query: ({ orgId }) => `?orgId=${orgId}` },
  'GET /fleet/coverage': { foreign: 'own' },
  'GET /fleet/tiles/{z}/{x}/{y}.mvt': { query: ({ orgId }) => `?orgId=${orgId}` },
  'GET /fleet/tiles.json': { foreign: 'own' },
  'GET /fleet/dead-zones': { foreign: 'own' },
  'GET /ogc': { foreign: 'own' },
  'GET /ogc/conformance': { foreign: 'own' },
  'GET /ogc/collections': { foreign: 'own' },
  'GET /ogc/collections/{collection}': { foreign: 'own' },
  'GET /ogc/collections/{collection}/schema': { foreign: 'own' },
  'GET /ogc/collections/{collection}/items': { foreign: 'own' },
  'GET /ogc/collections/{collection}/items/{feature}': {},
  'GET /fleet/signal-trend': { foreign: 'own' },
  'GET /fleet/operators': { foreign: 'own' },
  'GET /fleet/radio-health': { foreign: 'own' },
  'GET /towns/nearest': { foreign: 'open', query: () => '?lat=52&lon=6' },
  'GET /fleet/sim-advice': { foreign: 'own' },
  'GET /devices/{id}/radio-health': { id: 'deviceId' },
  'POST /orgs/{orgId}/radio-health-runs': {
    createsNothing: 'While a comparison waits or runs, there is no second one.',
  },
  'POST /fleet/forecast': {
    json: ({ orgId }) => ({
      orgId,
      path: [
        [8, 50],
        [8.01, 50],
      ],
    }),
    createsNothing: 'A query.',
  },
  'GET /fleet/dwells': { foreign: 'own' },
  'GET /fleet/trips': { foreign: 'own' },
  'GET /orgs/{orgId}/views': {},
  'POST /orgs/{orgId}/views': {
    json: () => ({ name: 'Night', place: 'map' }),
    otherJson: () => ({ name: 'Dawn', place: 'map' }),
  },
  'DELETE /orgs/{orgId}/views/{id}': { id: 'viewId' },
  'GET /signal-thresholds': { foreign: 'open' },

  'POST /telemetry': { unguarded: true, createsNothing: onceStored },
  'POST /adapters/openwisp/api/v1/monitoring/device/{deviceId}/': { unguarded: true, createsNothing: onceStored },
  'POST /adapters/influx/api/v2/write': { unguarded: true, createsNothing: onceStored },
  'POST /adapters/teltonika': { unguarded: true, createsNothing: onceStored },
  'POST /adapters/modemmanager': { unguarded: true, createsNothing: onceStored },
  'POST /adapters/inhand': { unguarded: true, createsNothing: onceStored },
  'POST /adapters/cradlepoint': { unguarded: true, createsNothing: onceStored },
  'POST /adapters/nmea': { unguarded: true, createsNothing: onceStored },
  'POST /adapters/gpsd': { unguarded: true, createsNothing: onceStored },
  'POST /adapters/otlp/v1/metrics': { unguarded: true, createsNothing: onceStored },
  'POST /device/enroll': { unguarded: true, createsNothing: 'A serial enrolls once.' },
  'GET /device/jobs/next': { unguarded: true },
  'POST /device/jobs/{id}/status': {
    unguarded: true,
    id: 'jobId',
    createsNothing: 'A repeated report of an attempt has no effect.',
  },
  'GET /device/config': { unguarded: true },
  'PUT /device/config': { unguarded: true },

  'GET /': { unguarded: true },
  'GET /livez': { unguarded: true },
  'GET /readyz': { unguarded: true },
  'GET /metrics': { foreign: 403 },
  'GET /openapi.json': { unguarded: true },
  'GET /docs': { unguarded: true },
}
