// The public interface of the package.
export type { BatchWait, JobBatch } from './batches.ts'
export { type ClientOptions, createClient, type Routerfleet } from './client.ts'
export { nearText } from './near.ts'
export type { components, operations, paths } from './openapi.ts'
export { type Problem, ProblemError } from './problem.ts'
export {
  createTelemetrySender,
  type Rejection,
  type Sample,
  type TelemetrySender,
  type TelemetrySenderOptions,
} from './telemetry-sender.ts'
export type { WebhookPayload } from './webhooks.ts'
