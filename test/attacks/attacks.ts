import type { Attack } from './attack.ts'
import { settingsKeys } from './settings-keys.ts'

/** All attacks, in the order in which they run. Those with a target of their own come last. */
export const attacks: readonly Attack[] = [settingsKeys]
