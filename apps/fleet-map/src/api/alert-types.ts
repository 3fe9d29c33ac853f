/** Types of alerts and places in the public HTTP API. Times are RFC 3339 strings. */

export const severities = ['critical', 'warning', 'info'] as const
export type Severity = (typeof severities)[number]
export type AlertState = 'open' | 'acknowledged' | 'closed'

export type Condition =
  | { kind: 'offline' | 'no_fix'; forMinutes: number }
  | { kind: 'weak_signal'; rsrpBelowDbm: number; forMinutes: number }
  | { kind: 'high_temperature'; temperatureAboveC: number; forMinutes: number }
  | { kind: 'entered_place' | 'left_place'; placeId: string; forMinutes: number }
  | { kind: 'data_use'; aboveMegabytes: number; period: 'day' | 'month' }
export type AlertKind = Condition['kind']

export type QuietHours = { days?: string[]; from: string; to: string; timeZone: string }

export type AlertRule = {
  id: string
  name: string
  enabled: boolean
  severity: Severity
  condition: Condition
  groupId: string | null
  tags: string[]
  channels: { webhook: boolean; emails: string[] }
  unconfirmedEmails: { email: string; state: 'waiting' | 'refused' }[]
  quietHours: QuietHours | null
  createdAt: string
  updatedAt: string
}

export type Alert = {
  id: string
  ruleId: string
  ruleName: string
  kind: AlertKind
  severity: Severity
  state: AlertState
  deviceId: string
  deviceName: string | null
  since: string
  openedAt: string
  measured: Record<string, unknown>
  acknowledgedAt: string | null
  acknowledgedBy: string | null
  closedAt: string | null
  closedBy: string | null
  closeReason: string | null
}

export type AlertCounts = { open: number; acknowledged: number }

export type Area =
  | { type: 'Polygon'; coordinates: [lon: number, lat: number][][] }
  | { type: 'Circle'; lat: number; lon: number; radiusM: number }

export type Place = { id: string; name: string; area: Area; tags: string[]; createdAt: string; updatedAt: string }
