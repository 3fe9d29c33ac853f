import type { Organization } from '../../api/schemas.ts'

export type SubscriptionStatus = Organization['subscription']['status']

/** The states of a subscription, in the order of forms. Writes are refused in the last two. */
export const subscriptionLabel: Record<SubscriptionStatus, string> = {
  active: 'Active',
  trialing: 'Trial',
  past_due: 'Payment overdue',
  suspended: 'Suspended',
  cancelled: 'Cancelled',
}
