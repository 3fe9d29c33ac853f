import type { Tool } from './tool.ts'
import { listAlertsTool } from './tools/alerts.ts'
import { deadZonesTool } from './tools/dead-zones.ts'
import { findDevicesTool } from './tools/devices.ts'
import { forecastTool } from './tools/forecast.ts'
import { listGroupsTool } from './tools/groups.ts'
import { getJobTool, listJobsTool } from './tools/jobs.ts'
import { listProfilesTool } from './tools/profiles.ts'
import { deviceSignalTool } from './tools/signal.ts'
import { deviceTripsTool } from './tools/trips.ts'
import { acknowledgeAlertsTool } from './writes/acknowledge-alerts.ts'
import { applyProfileTool } from './writes/apply-profile.ts'
import { createJobsTool } from './writes/create-jobs.ts'

export const readTools: readonly Tool[] = [
  findDevicesTool,
  deviceSignalTool,
  deviceTripsTool,
  deadZonesTool,
  forecastTool,
  listAlertsTool,
  listJobsTool,
  getJobTool,
  listGroupsTool,
  listProfilesTool,
]

export const writeTools: readonly Tool[] = [createJobsTool, applyProfileTool, acknowledgeAlertsTool]
