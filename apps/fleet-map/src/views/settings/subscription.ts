/** The states of a subscription, in the order of forms. Writes are refused in the last two. */
export const subscriptionLabel: Record<string, string> = {
  active: 'Active',
  trialing: 'Trial',
  past_due: 'Payment overdue',
  suspended: 'Suspended',
  cancelled: 'Cancelled',
}
