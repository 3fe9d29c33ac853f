import { createOpenApi } from './http/openapi.ts'
import type { Route } from './http/route.ts'
import { adapterRoutes } from './routes/adapters.ts'
import { alertAddressRoutes } from './routes/alert-addresses.ts'
import { alertRuleRoutes } from './routes/alert-rules.ts'
import { alertRoutes } from './routes/alerts.ts'
import { apiKeyRoutes } from './routes/api-keys.ts'
import { auditRoutes } from './routes/audit.ts'
import { authRoutes } from './routes/auth.ts'
import { configApplyRoutes } from './routes/config-apply.ts'
import { configVersionRoutes } from './routes/config-versions.ts'
import { configRoutes } from './routes/configs.ts'
import { deviceBulkRoutes } from './routes/device-bulk.ts'
import { deviceEdgeRoutes } from './routes/device-edge.ts'
import { deviceEventRoutes } from './routes/device-events.ts'
import { deviceFileRoutes } from './routes/device-files.ts'
import { deviceIdentifierRoutes } from './routes/device-identifiers.ts'
import { deviceTokenRoutes } from './routes/device-tokens.ts'
import { deviceRoutes } from './routes/devices.ts'
import { documentationRoutes } from './routes/documentation.ts'
import { enrollmentKeyRoutes } from './routes/enrollment-keys.ts'
import { firmwareRoutes } from './routes/firmware.ts'
import { fleetRoutes } from './routes/fleet.ts'
import { fleetTileRoutes } from './routes/fleet-tiles.ts'
import { groupMemberRoutes } from './routes/group-members.ts'
import { groupRoutes } from './routes/groups.ts'
import { jobBatchRoutes } from './routes/job-batches.ts'
import { jobRequestRoutes } from './routes/job-requests.ts'
import { jobRoutes } from './routes/jobs.ts'
import { oidcRoutes } from './routes/oidc.ts'
import { operationRoutes } from './routes/operations.ts'
import { organizationRoutes } from './routes/organizations.ts'
import { placeRoutes } from './routes/places.ts'
import { planRoutes } from './routes/plans.ts'
import { savedViewRoutes } from './routes/saved-views.ts'
import { sessionRoutes } from './routes/sessions.ts'
import { signInRoutes } from './routes/sign-in.ts'
import { subscriptionRoutes } from './routes/subscription.ts'
import { telemetryRoutes } from './routes/telemetry.ts'
import { usageRoutes } from './routes/usage.ts'
import { webhookDeliveryRoutes } from './routes/webhook-deliveries.ts'
import { webhookRoutes } from './routes/webhooks.ts'

/** All routes of the control plane, in the order of the documentation. */
export const routes: readonly Route[] = [
  ...organizationRoutes,
  ...subscriptionRoutes,
  ...usageRoutes,
  ...planRoutes,
  ...auditRoutes,
  ...apiKeyRoutes,
  ...enrollmentKeyRoutes,
  ...authRoutes,
  ...signInRoutes,
  ...sessionRoutes,
  ...oidcRoutes,
  ...deviceFileRoutes,
  ...deviceRoutes,
  ...deviceIdentifierRoutes,
  ...deviceEventRoutes,
  ...deviceTokenRoutes,
  ...deviceBulkRoutes,
  ...groupRoutes,
  ...groupMemberRoutes,
  ...placeRoutes,
  ...configRoutes,
  ...configVersionRoutes,
  ...configApplyRoutes,
  ...firmwareRoutes,
  ...jobRequestRoutes,
  ...jobRoutes,
  ...jobBatchRoutes,
  ...alertRuleRoutes,
  ...alertRoutes,
  ...alertAddressRoutes,
  ...webhookRoutes,
  ...webhookDeliveryRoutes,
  ...telemetryRoutes,
  ...fleetRoutes,
  ...fleetTileRoutes,
  ...savedViewRoutes,
  ...deviceEdgeRoutes,
  ...adapterRoutes,
  ...operationRoutes,
  ...documentationRoutes((baseUrl) => createOpenApi(routes, baseUrl)),
]
