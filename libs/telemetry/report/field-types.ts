/** A quantity. Stored as DOUBLE, which holds every integer of a sample (≤ 2^53) exactly. */
export type NumberField = { type: 'number'; min: number; max: number; unit: string; description: string }
/** Free text. Not a symbol column, because a device could then grow the symbol table without limit. */
export type TextField = { type: 'text'; description: string; sensitive?: true; maxCharacters?: number }
/** One word of a closed list. */
export type WordField<Word extends string = string> = { type: 'word'; words: readonly Word[]; description: string }
/** A whole number that is an identifier or exceeds 2^53. Stored as decimal text. */
export type DecimalField = { type: 'decimal'; max: number; description: string }
/** MCC and MNC, five or six digits. Text, to keep the leading zero of the MNC. */
export type PlmnField = { type: 'plmn'; description: string }
/** A moment; epoch milliseconds in a clean row. */
export type TimeField = { type: 'time'; description: string }
/** Neighbour and carrier cells; JSON text of a list of `cellListFields` objects in a clean row. */
export type CellListField = { type: 'cells'; maxItems: number; description: string }

export type Field = NumberField | TextField | WordField | DecimalField | PlmnField | TimeField | CellListField

/** The type of a field's value in a clean row. */
export type FieldValue<F extends Field> = F extends NumberField | TimeField
  ? number
  : F extends WordField<infer Word>
    ? Word
    : string

export const number = (min: number, max: number, unit: string, description: string): NumberField => ({
  type: 'number',
  min,
  max,
  unit,
  description,
})

/** A counter or duration with a lower bound only. 2^53 is the largest number of a sample. */
export const count = (unit: string, description: string): NumberField => number(0, 2 ** 53, unit, description)

export const text = (description: string): TextField => ({ type: 'text', description })

/** Text that tells rows apart. A sample with a longer one is rejected, because rows of two sources must not become one. */
export const nameText = (maxCharacters: number, description: string): TextField => ({
  type: 'text',
  description,
  maxCharacters,
})

export const sensitiveText = (description: string): TextField => ({ type: 'text', description, sensitive: true })

export const word = <const Word extends string>(words: readonly Word[], description: string): WordField<Word> => ({
  type: 'word',
  words,
  description,
})

export const decimal = (max: number, description: string): DecimalField => ({ type: 'decimal', max, description })

export const plmn = (description: string): PlmnField => ({ type: 'plmn', description })

export const time = (description: string): TimeField => ({ type: 'time', description })

export const cellList = (maxItems: number, description: string): CellListField => ({
  type: 'cells',
  maxItems,
  description,
})
