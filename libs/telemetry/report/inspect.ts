const maxDepth = 8
const maxStringCharacters = 256
const maxNumber = 2 ** 53

/**
 * Values (members and list elements, containers included) that one sample may hold. The largest sample of the contract
 * is `cellular` with 32 cells of 16 fields, under 600 values. The rest is for unknown members.
 */
export const maxSampleValues = 2_048

/**
 * Values that all samples of one report may hold together. A member takes at least five bytes even in the smallest cell
 * objects, so a report of known fields within the body limit of 1 MiB stays below this.
 */
export const maxReportValues = 262_144

const tooManyInSample = `The sample holds more than ${maxSampleValues} values.`
const tooManyInReport = `The report holds more than ${maxReportValues} values; this sample is beyond them.`

/** The number of values that may still be inspected. One budget per report. */
export type ValueBudget = { report: number; sample: number }

export const newValueBudget = (): ValueBudget => ({ report: maxReportValues, sample: maxSampleValues })

/** Characters are code points: an emoji is one, though UTF-16 counts it as two. */
function isTooLong(text: string): boolean {
  if (text.length <= maxStringCharacters) return false
  return text.length > 2 * maxStringCharacters || [...text].length > maxStringCharacters
}

function problemWithKey(key: string): string | null {
  if (key === '__proto__') return 'A member is named __proto__.'
  return isTooLong(key) ? `A member name is longer than ${maxStringCharacters} characters.` : null
}

function problemWithScalar(value: unknown): string | null {
  if (typeof value === 'number') {
    return value >= -maxNumber && value <= maxNumber ? null : 'A number is not finite or beyond 2^53.'
  }
  if (typeof value === 'string' && isTooLong(value)) return `A string is longer than ${maxStringCharacters} characters.`
  return null
}

function problemWithValue(value: unknown, depth: number, budget: ValueBudget): string | null {
  if (--budget.sample < 0) return tooManyInSample
  if (typeof value !== 'object' || value === null) return problemWithScalar(value)
  if (depth > maxDepth) return `The sample is nested deeper than ${maxDepth} levels.`
  return Array.isArray(value) ? problemWithList(value, depth, budget) : problemWithObject(value, depth, budget)
}

function problemWithList(list: readonly unknown[], depth: number, budget: ValueBudget): string | null {
  for (let index = 0; index < list.length; index++) {
    const problem = problemWithValue(list[index], depth + 1, budget)
    if (problem !== null) return problem
  }
  return null
}

function problemWithObject(object: object, depth: number, budget: ValueBudget): string | null {
  for (const key in object) {
    const problem = problemWithKey(key) ?? problemWithValue((object as Record<string, unknown>)[key], depth + 1, budget)
    if (problem !== null) return problem
  }
  return null
}

/**
 * Inspects a parsed sample once. Returns the number of members that are not in `knownFields`, or the reason to reject the
 * sample. The sample object has depth one. `budget` is shared by the samples of a report and limits the work: at most
 * `maxSampleValues` values of a sample are visited.
 */
export function inspectSample(
  sample: Record<string, unknown>,
  knownFields: ReadonlySet<string>,
  budget: ValueBudget,
): number | string {
  if (budget.report <= 0) return tooManyInReport
  budget.sample = maxSampleValues
  const inspected = inspectMembers(sample, knownFields, budget)
  budget.report -= maxSampleValues - Math.max(0, budget.sample)
  return budget.report < 0 ? tooManyInReport : inspected
}

function inspectMembers(
  sample: Record<string, unknown>,
  knownFields: ReadonlySet<string>,
  budget: ValueBudget,
): number | string {
  let unknownFields = 0
  for (const key in sample) {
    const problem = problemWithValue(sample[key], 2, budget)
    if (problem !== null) return problem
    if (!knownFields.has(key)) {
      const problemWithName = problemWithKey(key)
      if (problemWithName !== null) return problemWithName
      unknownFields++
    }
  }
  return unknownFields
}
