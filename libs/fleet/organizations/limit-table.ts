/**
 * A limit on what is stored. `most`: the number, unless the plan sets another. `what`: the noun of its error. `stored`: what
 * counts, as SQL after FROM; $1 is the organization, $2 the object for limits within one object.
 */
type Limit = { most: number; what: string; stored: string; within?: 'device' | 'group' | 'profile' }

const openJob = "status IN ('queued', 'dispatched', 'inProgress')"

/** Every limit on what an organization stores. What a list shows counts, so that a caller sees what to delete. */
const limitTable = {
  apiKeys: {
    most: 1_000,
    what: 'API keys',
    stored:
      'api_key_grant g JOIN api_key k ON k.id = g.api_key_id WHERE g.organization_id = $1 AND k.revoked_at IS NULL',
  },
  people: {
    most: 1_000,
    what: 'people and invitations',
    stored: `(SELECT 1 FROM person_role WHERE organization_id = $1
      UNION ALL SELECT 1 FROM invitation WHERE organization_id = $1 AND expires_at > now()) AS people`,
  },
  enrollmentKeys: {
    most: 1_000,
    what: 'enrollment keys',
    stored: 'enrollment_key WHERE organization_id = $1 AND revoked_at IS NULL',
  },
  webhooks: { most: 50, what: 'webhooks', stored: 'webhook WHERE organization_id = $1' },
  groups: { most: 1_000, what: 'groups', stored: 'device_group WHERE organization_id = $1' },
  groupMembers: {
    most: 100_000,
    what: 'explicit members',
    stored: 'device_group_member WHERE organization_id = $1 AND group_id = $2',
    within: 'group',
  },
  places: { most: 1_000, what: 'places', stored: 'place WHERE organization_id = $1' },
  profiles: { most: 1_000, what: 'config profiles', stored: 'config_profile WHERE organization_id = $1' },
  profileVersions: {
    most: 200,
    what: 'versions',
    stored: 'config_profile_version WHERE organization_id = $1 AND profile_id = $2',
    within: 'profile',
  },
  firmwareImages: { most: 500, what: 'firmware images', stored: 'firmware_image WHERE organization_id = $1' },
  savedViews: { most: 1_000, what: 'saved views', stored: 'saved_view WHERE organization_id = $1' },
  alertRules: { most: 200, what: 'alert rules', stored: 'alert_rule WHERE organization_id = $1' },
  chatChannels: { most: 50, what: 'chat channels', stored: 'chat_channel WHERE organization_id = $1' },
  waitingAddresses: {
    most: 100,
    what: 'e-mail addresses that wait for a confirmation',
    stored: "alert_address WHERE organization_id = $1 AND state = 'waiting'",
  },
  openBatches: {
    most: 1_000,
    what: 'unfinished job batches',
    stored: 'job_batch WHERE organization_id = $1 AND finished_at IS NULL',
  },
  openDeviceJobs: {
    most: 1_000,
    what: 'unfinished jobs',
    stored: `job WHERE organization_id = $1 AND device_id = $2 AND ${openJob}`,
    within: 'device',
  },
  deviceTokens: {
    most: 100,
    what: 'valid tokens',
    stored: `device_token
      WHERE organization_id = $1 AND device_id = $2 AND (expires_at IS NULL OR expires_at > now())`,
    within: 'device',
  },
} satisfies Record<string, Limit>

export type LimitName = keyof typeof limitTable

export const limitNames = Object.keys(limitTable) as LimitName[]

/** The limit of that name. */
export const limitNamed = (name: LimitName): Limit => limitTable[name]
