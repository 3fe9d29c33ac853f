import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api/client.ts'

/** Nothing to show, and what to do about it. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="state">
    <strong>{title}</strong>
    {children}
  </div>
)

export const Loading = ({ rows = 6, label = 'Loading' }: { rows?: number; label?: string }) => (
  <div role="status" style={{ display: 'grid', gap: 'var(--space-3)', padding: 'var(--space-4)' }}>
    <span class="visually-hidden">{label}</span>
    {Array.from({ length: rows }, (_, row) => (
      <div key={row} class="skeleton" style={{ width: `${92 - ((row * 17) % 40)}%` }} />
    ))}
  </div>
)

const sentences: Record<string, string> = {
  insufficient_scope:
    'Your key does not open this. Ask an administrator of the organization for the scope named below.',
  plan_feature: 'The organization’s plan does not include this.',
  unreachable: 'The service cannot be reached. This page goes on trying.',
}

type FailureProps = { error: ApiError; retry?: () => void; children?: ComponentChildren }

/** A refusal or failure, in the service's own words beside ours. */
export function Failure({ error, retry, children }: FailureProps) {
  const title = error.status === 403 ? 'Not permitted' : error.status === 404 ? 'Not found' : 'That did not work'
  return (
    <div class="state" role="alert">
      <strong>{title}</strong>
      <p>{sentences[error.code] ?? error.message}</p>
      {sentences[error.code] ? <p class="label">{error.message}</p> : null}
      {retry ? (
        <button type="button" class="button" onClick={retry}>
          Try again
        </button>
      ) : null}
      {children}
    </div>
  )
}
