import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '../../../shared/data/field')

/** The reason why the inputs of the field are not available; null if they are. */
export const fieldMissing: string | null = existsSync(folder)
  ? null
  : 'The inputs of the field are not beside the repository (../shared/data/field).'

/** Returns an input of the field as text. */
export const readField = (file: string): string => readFieldBytes(file).toString()

/** Returns an input of the field that can have any encoding. */
export const readFieldBytes = (file: string): Buffer => readFileSync(join(folder, file))
