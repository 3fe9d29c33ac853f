/** Types of the public HTTP API, limited to what this page reads. Times are RFC 3339 strings. */

export type Page<Item> = { items: Item[]; nextCursor: string | null }

/** Who signed in. `platform`: all scopes in all organizations. */
export type Caller = {
  id: string
  name: string | null
  platform: boolean
  sessionId: string | null
  organizations: { id: string; scopes: string[] }[]
}

export type DeviceStatus = 'online' | 'offline' | 'provisioning' | 'error' | 'disabled'
export type Quality = 'none' | 'poor' | 'fair' | 'good' | 'excellent'

export type Organization = {
  id: string
  name: string
  plan: string
  subscription: { status: string; deviceQuota: number }
  createdAt: string
}

export type Device = {
  id: string
  organizationId: string
  serial: string
  name: string
  model: string
  tags: string[]
  status: DeviceStatus
  lastSeenAt: string | null
  firmware: string | null
  configProfile: { id: string; version: number } | null
  location: { lat: number; lon: number; ts: string } | null
  createdAt: string
  updatedAt: string
}

export type Group = {
  id: string
  name: string
  smartTags: string[]
  explicitDeviceCount: number
  effectiveDeviceCount: number
  createdAt: string
  updatedAt: string
}

export type GroupMember = Device & { membership: 'explicit' | 'smartTag' | 'both' }

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

export type Profile = {
  id: string
  name: string
  description: string | null
  model: string | null
  settings: { [key: string]: Json }
  version: number
  createdAt: string
  updatedAt: string
}

export type JobStatus =
  | 'queued'
  | 'dispatched'
  | 'inProgress'
  | 'succeeded'
  | 'failed'
  | 'timedOut'
  | 'cancelled'
  | 'expired'
  | 'rejected'

export type Schedule = {
  startAt?: string
  window?: { days?: string[]; from: string; to: string; timeZone: string }
}

export type StageSize = { devices: number } | { percent: number }

export type Rollout = {
  maxPerMinute?: number
  maxConcurrent?: number
  canary?: number
  stages?: StageSize[]
  advanceWhenEndedPct?: number
  stageWaitMinutes?: number
  confirmStages?: boolean
  pauseWhenFailedPct?: number
  abortWhenFailedPct?: number
}

export type Stage = {
  devices: number
  status: 'waiting' | 'running' | 'finished' | 'stopped'
  startedAt: string | null
  endedAt: string | null
  /** Only in the response for a single batch. */
  counts?: Partial<Record<JobStatus, number>>
}

export type FirmwareImage = {
  id: string
  version: string
  url: string
  sha256: string
  sizeBytes: number | null
  models: string[]
  notes: string | null
  createdBy: string
  createdAt: string
}

export type Batch = {
  id: string
  kind: string
  status: 'scheduled' | 'running' | 'paused' | 'finished' | 'cancelled'
  pauseReason: 'operator' | 'failures' | 'stage' | null
  /** `deviceIds` only in the response for a single batch; lists have `deviceCount`, and `deviceId` if it is one. */
  target: {
    groupId?: string
    deviceIds?: string[]
    deviceCount?: number
    deviceId?: string | null
    filter?: DeviceFilter
  }
  targetName: string | null
  profile: { id: string; version: number; name: string | null } | null
  parameters: Record<string, unknown>
  schedule: Schedule | null
  rollout: Rollout | null
  stages: Stage[]
  total: number
  counts: Record<JobStatus, number>
  /** Only in the response for a single batch. */
  skipped?: { deviceId: string; reason: string }[]
  createdBy: string
  createdByName: string | null
  createdAt: string
  finishedAt: string | null
}

export type Job = {
  id: string
  batchId: string | null
  organizationId: string
  deviceId: string
  kind: string
  status: JobStatus
  attempt: number
  maxAttempts: number
  parameters: Record<string, unknown>
  result: unknown
  cancelRequested: boolean
  progress: number | null
  error: { code: string; detail: string } | null
  expiresAt: string
  createdAt: string
  updatedAt: string
  finishedAt: string | null
}

export type JobWithHistory = Job & { history: { status: JobStatus; at: string; by: string }[] }

export type MapDevice = {
  deviceId: string
  organizationId: string
  name: string
  status: DeviceStatus
  location: {
    lat: number
    lon: number
    fix: string | null
    ts: string
    ageMs: number
    accuracyM: number | null
    speedMps: number | null
    headingDeg: number | null
  } | null
  signal: {
    ts: string
    ageMs: number
    rat: string | null
    plmn: string | null
    operatorName: string | null
    rsrpDbm: number | null
    rsrqDb: number | null
    sinrDb: number | null
    nrRsrpDbm: number | null
    quality: Quality | null
    qualityBasis: string | null
    alignment: string
    alignErrorM: number | null
    lat: number | null
    lon: number | null
  } | null
  dwell: { arrivedAt: string; durationS: number; lat: number; lon: number; radiusM: number } | null
}

export type CoverageCell = {
  h3: string
  samples: number
  devices: number
  serviceRatio: number
  rsrpDbm: { p10: number | null; p50: number | null; p90: number | null }
  sinrDb: { p10: number | null; p50: number | null }
  quality: Quality | null
  confidence: 'low' | 'medium' | 'high'
  lastAt: string
}

export type Dwell = {
  id: string
  deviceId: string
  arrivedAt: string
  departedAt: string | null
  durationS: number
  lat: number
  lon: number
  radiusM: number
  fixCount: number
  gap: boolean
  rsrpP50Dbm: number | null
  sinrP50Db: number | null
  noServiceS: number | null
  /** The places that contain its centre. */
  places?: { id: string; name: string }[]
}

/** A list in columnar form: arrays of equal length by dotted path. */
export type Columns = Record<string, unknown[]>

export type DeadZone = {
  id: string
  lat: number
  lon: number
  bbox: [minLon: number, minLat: number, maxLon: number, maxLat: number]
  cells: string[]
  areaKm2: number
  samples: number
  noServiceS: number
  devices: number
  worstPlmn: string | null
  bestPlmn: string | null
  lastAt: string
}

/** `GET /fleet/tiles.json`, limited to what the page reads. `fleet` describes the devices of the query. */
export type TileJson = {
  vector_layers: { id: string }[]
  fleet: {
    devices: number
    bounds: [west: number, south: number, east: number, north: number] | null
    operators: { plmn: string; name: string }[]
  } | null
}

/** What devices of a batch matched when it was created. */
export type DeviceFilter = { q?: string; status?: string; tag?: string[]; placeId?: string }
