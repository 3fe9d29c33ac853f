import type { ComponentChildren } from 'preact'
import { type ApiError, isNotInPlan } from '../api/client.ts'
import { linkTo } from '../state/url.ts'

/** An empty list, and what to do about it. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="state">
    <strong>{title}</strong>
    {children}
  </div>
)

/** What the plan of an organization does not include, and where a person sees what it does. */
export const NotInPlan = ({ error }: { error: ApiError }) => (
  <Empty title="Not in this plan">
    <p>{error.message}</p>
    <a class="button" href={linkTo('settings', { section: 'organization' })}>
      Show plan and usage
    </a>
  </Empty>
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
  unreachable: 'Cannot reach the service. Retrying.',
}

type FailureProps = { error: ApiError; retry?: () => void; children?: ComponentChildren }

/** Explains an error and shows the service's message. */
export function Failure({ error, retry, children }: FailureProps) {
  if (isNotInPlan(error)) return <NotInPlan error={error} />
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
