import { count } from './format.ts'

/** What a check reads of a field of a form. */
export type CheckedField = {
  readonly type: string
  readonly value: string
  readonly required?: boolean
  readonly min?: string
  readonly max?: string
  readonly minLength?: number
  readonly title: string
  readonly dataset: { readonly empty?: string | undefined }
  readonly validity: Pick<
    ValidityState,
    | 'valueMissing'
    | 'badInput'
    | 'typeMismatch'
    | 'patternMismatch'
    | 'tooShort'
    | 'rangeUnderflow'
    | 'rangeOverflow'
    | 'stepMismatch'
  >
}

/** What an empty field of a type says, unless it has `data-empty`. */
const emptyTexts: Record<string, string> = {
  'select-one': 'Choose one.',
  file: 'Choose a file.',
  radio: 'Choose one.',
  checkbox: 'This is required.',
  time: 'Enter a time.',
  'datetime-local': 'Enter a date and a time.',
}

const typeTexts: Record<string, string> = {
  email: 'Enter an e-mail address, such as ada@example.com.',
  url: 'Enter a complete address, such as https://example.com.',
}

/**
 * Returns a sentence that says what is wrong with a field, in the language of the page; undefined if nothing is. `title` is the
 * sentence for a text that does not match the pattern.
 */
export function faultOf(field: CheckedField): string | undefined {
  const { validity, type, value, title, minLength = 0 } = field
  // Blanks alone are no text, and the service removes them.
  const isBlank = field.required === true && type !== 'checkbox' && type !== 'radio' && value.trim() === ''
  if (validity.badInput) return type === 'number' ? 'Enter a number.' : 'Enter a complete date and time.'
  if (validity.valueMissing || isBlank) return field.dataset.empty ?? emptyTexts[type] ?? 'Fill in this field.'
  if (validity.typeMismatch) return typeTexts[type] ?? title
  if (validity.patternMismatch) return title || 'Some of these characters are not possible here.'
  if (validity.tooShort) return `Enter at least ${minLength} characters.`
  if (validity.rangeUnderflow || validity.rangeOverflow) return rangeText(field)
  if (validity.stepMismatch) return 'Enter a whole number.'
  return undefined
}

function rangeText({ min = '', max = '' }: CheckedField): string {
  if (min !== '' && max !== '') return `Enter a number from ${count(Number(min))} to ${count(Number(max))}.`
  return min === '' ? `Enter ${count(Number(max))} or less.` : `Enter ${count(Number(min))} or more.`
}
