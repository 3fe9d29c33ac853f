import { inject } from 'vitest'
import type { QuestdbConnection } from './engines.ts'

/**
 * Opens the QuestDB that all test files share. Its tables contain rows of several tests, so a test uses its own ids and never
 * truncates a table.
 */
export const questdbConnection = (): QuestdbConnection => inject('questdb')
