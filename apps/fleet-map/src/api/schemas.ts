import type { components } from '#client/openapi'

// The objects of the API by their names in the OpenAPI document, and parts of them that have no name there.

type Schemas = components['schemas']

export type Alert = Schemas['Alert']
export type AlertAddress = Schemas['AlertAddress']
export type AlertCounts = Schemas['AlertCounts']
export type AlertRule = Schemas['AlertRule']
export type BulkReport = Schemas['BulkChange']
export type Caller = Schemas['Caller']
export type ChatChannel = Schemas['ChatChannel']
export type ApiKey = Schemas['ApiKey']
export type AuditRecord = Schemas['AuditRecord']
export type ConfigProfile = Schemas['ConfigProfile']
export type ConfigProfileVersion = Schemas['ConfigProfileVersion']
export type CoverageCell = Schemas['DetailedCoverageCell']
export type DeadZone = Schemas['DeadZone']
export type Device = Schemas['Device']
export type DeviceConfig = Schemas['DeviceConfig']
export type DeviceCounts = Schemas['DeviceCounts']
export type DeviceEvent = Schemas['DeviceEvent']
export type DeviceFilter = Schemas['DeviceFilter']
export type DeviceToken = Schemas['DeviceToken']
export type EnrollmentKey = Schemas['EnrollmentKey']
export type FirmwareImage = Schemas['FirmwareImage']
export type Group = Schemas['Group']
export type ForecastSegment = Schemas['ForecastSegment']
export type GroupMember = Schemas['GroupMember']
export type Job = Schemas['Job']
export type Invitation = Schemas['Invitation']
export type JobBatch = Schemas['JobBatch']
export type ConfigApplicationPlan = Schemas['ConfigApplicationPlan']
export type JobBatchPlan = Schemas['JobBatchPlan']
export type PlannedDevice = Schemas['PlannedDevice']
export type JobBatchSummary = Schemas['JobBatchSummary']
export type Trip = Schemas['Trip']
export type LatestTelemetry = Schemas['LatestTelemetry']
export type ListedDevice = Schemas['ListedDevice']
export type MapSettings = Schemas['MapSettings']
export type NewApiKey = Schemas['NewApiKey']
export type NewEnrollmentKey = Schemas['NewEnrollmentKey']
export type Organization = Schemas['Organization']
export type OrganizationSession = Schemas['OrganizationSession']
export type Person = Schemas['Person']
export type Place = Schemas['Place']
export type RadioHealth = Schemas['RadioHealth']
export type RouteForecast = Schemas['RouteForecast']
export type SavedView = Schemas['SavedView']
export type Session = Schemas['Session']
export type SignalThresholds = Schemas['SignalThresholds']
export type SignalTrend = Schemas['SignalTrend']
export type SimAdvice = Schemas['SimAdvice']
export type TileJson = Schemas['TileJson']
export type Usage = Schemas['Usage']
export type Webhook = Schemas['Webhook']
export type WebhookDelivery = Schemas['WebhookDelivery']

export type Area = Place['area']
export type AlertState = Alert['state']
export type Condition = AlertRule['condition']
/** A device on the map, with all its fields. */
export type FleetDevice = Whole<Schemas['FleetDevice']>
type Whole<Value> = Value extends object ? { [Name in keyof Value]-?: Whole<Value[Name]> } : Value

export type ConfigState = DeviceConfig['state']
export type DeviceStatus = Device['status']
export type JobDelivery = Schemas['JobDelivery']
export type JobStatus = Job['status']
export type Quality = NonNullable<CoverageCell['quality']>
export type QuietHours = NonNullable<AlertRule['quietHours']>
export type Rollout = NonNullable<JobBatch['rollout']>
export type Schedule = NonNullable<JobBatch['schedule']>
