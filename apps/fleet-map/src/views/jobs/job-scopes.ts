import type { Scope } from '../../state/session.ts'

/** Who holds one of these can start some kind of job. */
export const jobScopes: readonly Scope[] = ['job:create', 'config:apply']
