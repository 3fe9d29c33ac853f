import { createOpenApi } from './openapi.ts'
import type { Route } from './route.ts'
import { authRoutes } from './routes/auth.ts'
import { configRoutes } from './routes/configs.ts'
import { deviceEdgeRoutes } from './routes/device-edge.ts'
import { deviceRoutes } from './routes/devices.ts'
import { documentationRoutes } from './routes/documentation.ts'
import { groupMemberRoutes } from './routes/group-members.ts'
import { groupRoutes } from './routes/groups.ts'
import { operationRoutes } from './routes/operations.ts'
import { organizationRoutes } from './routes/organizations.ts'
import { telemetryRoutes } from './routes/telemetry.ts'

/** Everything the control plane serves, in the order the documentation shows it. */
export const routes: readonly Route[] = [
  ...organizationRoutes,
  ...authRoutes,
  ...deviceRoutes,
  ...groupRoutes,
  ...groupMemberRoutes,
  ...configRoutes,
  ...telemetryRoutes,
  ...deviceEdgeRoutes,
  ...operationRoutes,
  ...documentationRoutes(() => createOpenApi(routes)),
]
