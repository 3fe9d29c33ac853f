import type { z } from 'zod'

/** The problems of a row as sentences about its columns. The schema must report its input. */
export const faultsOf = (error: z.ZodError): string => error.issues.map(sentenceOf).join(' ')

function sentenceOf(issue: z.core.$ZodIssue): string {
  const [column, entry] = issue.path
  const subject = column === undefined ? 'The row' : entry === undefined ? `${String(column)}` : `A tag`
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined && column !== undefined
        ? `${subject} is missing.`
        : `${subject} must be ${nameOf[issue.expected] ?? issue.expected}, not ${kindOf(issue.input)}.`
    case 'too_small':
      return issue.origin === 'string' && Number(issue.minimum) <= 1
        ? `${subject} is empty.`
        : `${subject} must have at least ${issue.minimum} characters.`
    case 'too_big':
      return issue.origin === 'array'
        ? `${subject} has more than ${issue.maximum} entries.`
        : `${subject} is longer than ${issue.maximum} characters.`
    case 'unrecognized_keys':
      return issue.keys.includes('surplus cells')
        ? 'The row has surplus cells: more than the first line has columns.'
        : `There is no column ${issue.keys.slice(0, 3).join(', ')}.`
    default:
      return `${subject}: ${issue.message}`
  }
}

const nameOf: Readonly<Record<string, string>> = { array: 'a list', object: 'an object', string: 'text in quotes' }

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' ? 'an object' : typeof value === 'string' ? 'text' : `the ${typeof value} ${value}`
}
