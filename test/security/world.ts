import { evaluateStored } from '#alerts/evaluation/stored'
import { reportMailServer } from '#messages/mail-server'
import type { TestControlPlane } from '#test/control-plane'

/** One organization with one of everything, whose ids other callers then try. */
export type World = {
  orgId: string
  key: string
  deviceId: string
  memberDeviceId: string
  deviceToken: string
  tokenId: string
  groupId: string
  placeId: string
  alertRuleId: string
  alertId: string
  chatChannelId: string
  profileId: string
  apiKeyId: string
  enrollmentKeyId: string
  webhookId: string
  deliveryId: string
  sessionId: string
  personId: string
  invitationId: string
  jobId: string
  batchId: string
  firmwareImageId: string
  viewId: string
}

const image = { version: '7.1', url: 'https://downloads.example.com/fw.bin', sha256: 'a'.repeat(64) }
const area = { type: 'Circle', lat: 51.9, lon: 4.1, radiusM: 500 }

/** Builds the world through the API itself, as its owner would. */
export async function createWorld(api: TestControlPlane): Promise<World> {
  const { id: orgId, key } = await api.newOrganization()
  const post = async (path: string, json: unknown) => {
    const answer = await api.call('POST', path, { token: key, json })
    if (answer.status >= 300) throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }
  const device = (serial: string) => post('/devices', { organizationId: orgId, serial, name: 'R', model: 'M' })
  const [deviceId, memberDeviceId] = [(await device('W-1')).id, (await device('W-2')).id]
  const { token: deviceToken } = await post(`/devices/${deviceId}/token`, {})
  const groupId = (await post(`/orgs/${orgId}/groups`, { name: 'All' })).id
  await post(`/orgs/${orgId}/groups/${groupId}/members`, { deviceIds: [memberDeviceId] })
  const condition = { kind: 'offline', forMinutes: 5 }
  const emails = ['fleet@example.com', 'night@example.com']
  const alertRuleId = (await post(`/orgs/${orgId}/alert-rules`, { name: 'Offline', condition, channels: { emails } }))
    .id
  // The confirmations can be sent again after an hour.
  await api.services.pool.query(
    "UPDATE alert_address SET requested_at = now() - interval '1 day' WHERE organization_id = $1",
    [orgId],
  )
  // Tests can be sent to addresses that are confirmed, while there is a mail server.
  await api.services.pool.query(
    `INSERT INTO alert_address (organization_id, address, state, confirmed_by)
     SELECT $1, address, 'confirmed', 'link' FROM unnest('{known@example.com,other@example.com}'::text[]) AS address`,
    [orgId],
  )
  // The link of an invitation is shown while there is no mail server.
  await api.services.pool.query('DELETE FROM mail_server')
  const { url } = await post(`/orgs/${orgId}/invitations`, { email: 'ada@example.com', role: 'viewer' })
  const personId = await join(api, url)
  const invitationId = (await post(`/orgs/${orgId}/invitations`, { email: 'bob@example.com', role: 'viewer' })).id
  await reportMailServer(api.services.pool)
  const chat = { name: 'Shift', kind: 'slack', url: 'https://hooks.slack.com/services/T0/B0/X' }
  const profileId = (await post(`/orgs/${orgId}/configs`, { name: 'Base', settings: { apn: 'internet' } })).id
  const batch = await post(`/orgs/${orgId}/configs/${profileId}/apply`, { deviceIds: [deviceId] })
  const hook = { url: 'https://example.com/h', events: ['device.created'] }
  const webhookId = (await post(`/orgs/${orgId}/webhooks`, hook)).id
  return {
    orgId,
    key,
    deviceId,
    memberDeviceId,
    deviceToken,
    tokenId: deviceToken.split('_')[1],
    groupId,
    placeId: (await post(`/orgs/${orgId}/places`, { name: 'Depot', area })).id,
    profileId,
    apiKeyId: (await post(`/orgs/${orgId}/api-keys`, { name: 'K', role: 'viewer' })).id,
    enrollmentKeyId: (await post(`/orgs/${orgId}/enrollment-keys`, { name: 'E', autoCreate: true })).id,
    webhookId,
    deliveryId: (await post(`/orgs/${orgId}/webhooks/${webhookId}/test`, {})).id,
    sessionId: await signIn(api, key),
    personId,
    invitationId,
    alertRuleId,
    alertId: await openAlert(api, alertRuleId, deviceId),
    chatChannelId: (await post(`/orgs/${orgId}/chat-channels`, chat)).id,
    jobId: batch.jobs[0].id,
    batchId: batch.id,
    viewId: (await post(`/orgs/${orgId}/views`, { name: 'Day', place: 'map', shared: true })).id,
    firmwareImageId: (await post(`/orgs/${orgId}/firmware`, image)).id,
  }
}

/** Signs in with a link, as a person does. Returns the id of the session. */
async function signIn(api: TestControlPlane, key: string): Promise<string> {
  const { url } = (await api.call('POST', '/auth/sign-in-links', { token: key })).body
  const json = { link: new URL(url).hash.split('link=')[1] }
  return (await api.call('POST', '/auth/session', { json, headers: { 'x-routerfleet-page': '1' } })).body.sessionId
}

/** Joins with the link of an invitation. Returns the id of the person. */
async function join(api: TestControlPlane, url: string): Promise<string> {
  const json = { link: new URL(url).hash.split('link=')[1], name: 'Ada' }
  const headers = { 'x-routerfleet-page': '1' }
  const { id } = (await api.call('POST', '/auth/invitation-acceptances', { json, headers })).body
  return id.slice('person:'.length)
}

/** Opens an alert as a round of the worker does. */
async function openAlert({ services }: TestControlPlane, ruleId: string, deviceId: string): Promise<string> {
  await services.pool.query("UPDATE device SET last_seen_at = now() - interval '1 hour' WHERE id = $1", [deviceId])
  await evaluateStored(services)
  const { rows } = await services.pool.query<{ id: string }>('SELECT id FROM alert WHERE rule_id = $1', [ruleId])
  return rows[0]?.id ?? ''
}
