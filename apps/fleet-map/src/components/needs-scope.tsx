import type { ComponentChildren } from 'preact'
import { caller, holds, type Scope } from '../state/session.ts'
import { Loading } from './states.tsx'

type NeedsScopeProps = { org: string; scope: Scope; title: string; children: ComponentChildren }

type ForScopeProps = Pick<NeedsScopeProps, 'org' | 'children'> & { scope: Scope | readonly Scope[] }

/** Controls for callers who hold a scope, or one of several, in an organization. The others see nothing that the service would refuse. */
export const ForScope = ({ org, scope, children }: ForScopeProps) =>
  [scope].flat().some((one) => holds(org, one)) ? children : null

/** A part of the page for callers who hold a scope in an organization. The others read which one they need, and nothing is requested. */
export function NeedsScope({ org, scope, title, children }: NeedsScopeProps) {
  if (!caller.value) return <Loading />
  if (holds(org, scope)) return <>{children}</>
  return (
    <>
      <h1>{title}</h1>
      <div class="state" role="alert">
        <strong>Permission denied</strong>
        <p>
          You need the scope <code>{scope}</code> in this organization. An administrator of the organization can grant
          it.
        </p>
      </div>
    </>
  )
}
