import { inject } from 'vitest'
import type { QuestdbConnection } from './engines.ts'

/**
 * The QuestDB all test files share, with the product's tables. Rows of several tests stand side by side in them, so a
 * test uses ids of its own and never empties a table.
 */
export const questdbConnection = (): QuestdbConnection => inject('questdb')
