import { createOpenApi } from './http/openapi.ts'
import type { Route } from './http/route.ts'
import { apiKeyRoutes } from './routes/access/api-keys.ts'
import { authRoutes } from './routes/access/auth.ts'
import { enrollmentKeyRoutes } from './routes/access/enrollment-keys.ts'
import { invitationRoutes } from './routes/access/invitations.ts'
import { oidcRoutes } from './routes/access/oidc.ts'
import { peopleRoutes } from './routes/access/people.ts'
import { sessionRoutes } from './routes/access/sessions.ts'
import { signInRoutes } from './routes/access/sign-in.ts'
import { adapterRoutes } from './routes/adapters/adapters.ts'
import { deviceEdgeRoutes } from './routes/adapters/device-edge.ts'
import { alertAddressRoutes } from './routes/alerts/alert-addresses.ts'
import { alertRuleRoutes } from './routes/alerts/alert-rules.ts'
import { alertRoutes } from './routes/alerts/alerts.ts'
import { chatChannelRoutes } from './routes/alerts/chat-channels.ts'
import { configApplyRoutes } from './routes/configs/config-apply.ts'
import { configVersionRoutes } from './routes/configs/config-versions.ts'
import { configRoutes } from './routes/configs/configs.ts'
import { configVariableRoutes } from './routes/configs/variables.ts'
import { deviceBulkRoutes } from './routes/devices/device-bulk.ts'
import { deviceBulkChangeRoutes } from './routes/devices/device-bulk-changes.ts'
import { deviceEventRoutes } from './routes/devices/device-events.ts'
import { deviceFileRoutes } from './routes/devices/device-files.ts'
import { deviceIdentifierRoutes } from './routes/devices/device-identifiers.ts'
import { deviceTokenRoutes } from './routes/devices/device-tokens.ts'
import { deviceRoutes } from './routes/devices/devices.ts'
import { groupMemberRoutes } from './routes/devices/group-members.ts'
import { groupRoutes } from './routes/devices/groups.ts'
import { fleetRoutes } from './routes/fleet/fleet.ts'
import { fleetTileRoutes } from './routes/fleet/fleet-tiles.ts'
import { placeRoutes } from './routes/fleet/places.ts'
import { radioHealthRoutes } from './routes/fleet/radio-health.ts'
import { savedViewRoutes } from './routes/fleet/saved-views.ts'
import { simAdviceRoutes } from './routes/fleet/sim-advice.ts'
import { telemetryRoutes } from './routes/fleet/telemetry.ts'
import { townRoutes } from './routes/fleet/towns.ts'
import { firmwareRoutes } from './routes/jobs/firmware.ts'
import { jobBatchRoutes } from './routes/jobs/job-batches.ts'
import { jobRequestRoutes } from './routes/jobs/job-requests.ts'
import { jobRoutes } from './routes/jobs/jobs.ts'
import { ogcRoutes } from './routes/ogc/ogc.ts'
import { auditRoutes } from './routes/organizations/audit.ts'
import { organizationRoutes } from './routes/organizations/organizations.ts'
import { planRoutes } from './routes/organizations/plans.ts'
import { subscriptionRoutes } from './routes/organizations/subscription.ts'
import { usageRoutes } from './routes/organizations/usage.ts'
import { webhookDeliveryRoutes } from './routes/organizations/webhook-deliveries.ts'
import { webhookRoutes } from './routes/organizations/webhooks.ts'
import { documentationRoutes } from './routes/service/documentation.ts'
import { mapSettingsRoutes } from './routes/service/map-settings.ts'
import { operationRoutes } from './routes/service/operations.ts'

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
  ...peopleRoutes,
  ...invitationRoutes,
  ...signInRoutes,
  ...sessionRoutes,
  ...oidcRoutes,
  ...deviceFileRoutes,
  ...deviceRoutes,
  ...deviceIdentifierRoutes,
  ...deviceEventRoutes,
  ...deviceTokenRoutes,
  ...deviceBulkRoutes,
  ...deviceBulkChangeRoutes,
  ...groupRoutes,
  ...groupMemberRoutes,
  ...placeRoutes,
  ...configRoutes,
  ...configVersionRoutes,
  ...configVariableRoutes,
  ...configApplyRoutes,
  ...firmwareRoutes,
  ...jobRequestRoutes,
  ...jobRoutes,
  ...jobBatchRoutes,
  ...alertRuleRoutes,
  ...alertRoutes,
  ...alertAddressRoutes,
  ...chatChannelRoutes,
  ...webhookRoutes,
  ...webhookDeliveryRoutes,
  ...telemetryRoutes,
  ...fleetRoutes,
  ...radioHealthRoutes,
  ...simAdviceRoutes,
  ...townRoutes,
  ...fleetTileRoutes,
  ...ogcRoutes,
  ...savedViewRoutes,
  ...deviceEdgeRoutes,
  ...adapterRoutes,
  ...operationRoutes,
  ...mapSettingsRoutes,
  ...documentationRoutes((baseUrl) => createOpenApi(routes, baseUrl)),
]
