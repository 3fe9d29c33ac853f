import type { z } from 'zod'

const typeNames: Readonly<Record<string, string>> = {
  array: 'a list',
  object: 'an object',
  record: 'an object',
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  date: 'a time',
  null: 'null',
}

const formatNames: Readonly<Record<string, string>> = {
  uuid: 'a UUID',
  email: 'an e-mail address',
  url: 'a web address',
  datetime: 'a time such as 2026-01-31T12:00:00Z',
  date: 'a day such as 2026-01-31',
  time: 'a time of the day such as 12:00',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
}

const mostChoices = 20

/**
 * What is wrong with a value, as a sentence for people. Undefined for faults that schemas describe in their own words. The
 * error function of a parse by zod: schemas with a message of their own do not ask it.
 */
export function faultSentence(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'A value is required.'
        : `Must be ${typeNames[issue.expected] ?? issue.expected}.`
    case 'too_small':
      return sizeSentence(issue.origin, 'least', Number(issue.minimum), issue.inclusive !== false)
    case 'too_big':
      return sizeSentence(issue.origin, 'most', Number(issue.maximum), issue.inclusive !== false)
    case 'invalid_format':
      return formatNames[issue.format] ? `Must be ${formatNames[issue.format]}.` : 'Has the wrong format.'
    case 'invalid_value':
      return choiceSentence(issue.values)
    case 'not_multiple_of':
      return `Must be a multiple of ${issue.divisor}.`
    case 'invalid_union':
      return 'Has none of the allowed forms.'
    default:
      return undefined
  }
}

function sizeSentence(origin: string, bound: 'least' | 'most', limit: number, isInclusive: boolean): string {
  const amount = limit.toLocaleString('en')
  if (origin === 'string') {
    if (bound === 'least' && limit <= 1) return 'Must not be empty.'
    return `Must have at ${bound} ${amount} character${limit === 1 ? '' : 's'}.`
  }
  if (origin === 'array' || origin === 'set' || origin === 'map')
    return `Must have at ${bound} ${amount} ${limit === 1 ? 'entry' : 'entries'}.`
  if (isInclusive) return `Must be at ${bound} ${limit}.`
  return `Must be ${bound === 'least' ? 'more' : 'less'} than ${limit}.`
}

function choiceSentence(values: readonly unknown[]): string {
  const [only] = values
  if (values.length === 1) return `Must be ${String(only)}.`
  const shown = values.slice(0, mostChoices).map(String)
  return `Must be one of ${shown.join(', ')}${values.length > mostChoices ? ' and others' : ''}.`
}
