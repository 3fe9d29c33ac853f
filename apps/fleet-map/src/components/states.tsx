import type { ComponentChildren } from 'preact'
import type { ApiError } from '../api/client.ts'

/** An empty list, and what to do about it. */
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

const explanations: Record<string, string> = {
  insufficient_scope: 'Your API key does not have the required scope. Ask an administrator of the organization for it.',
  plan_feature: 'The plan of this organization does not include this feature.',
  unreachable: 'Cannot reach the service. Retrying.',
}

type FailureProps = { error: ApiError; retry?: () => void; children?: ComponentChildren }

/** Explains an error and shows the service's message. */
export function Failure({ error, retry, children }: FailureProps) {
  const isMissing = error.status === 404
  const title = error.status === 403 ? 'Permission denied' : isMissing ? 'Not found' : 'Request failed'
  return (
    <div class="state" role="alert">
      <strong>{title}</strong>
      <p>
        {isMissing
          ? 'It was deleted, you cannot read it, or the link is wrong.'
          : (explanations[error.code] ?? error.message)}
      </p>
      {explanations[error.code] ? <p class="label">{error.message}</p> : null}
      {retry && !isMissing ? (
        <button type="button" class="button" onClick={retry}>
          Retry
        </button>
      ) : null}
      {children}
    </div>
  )
}
