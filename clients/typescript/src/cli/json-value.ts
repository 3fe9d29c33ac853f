import { CommandError, exitCodes } from './exit-codes.ts'

/**
 * The value of a text that a person types: JSON if it is JSON, else the text. A number that JavaScript would print in another way, such
 * as an ICCID or `1.10`, stays a text. Throws with exit code 2 if a number in a list or an object is too large to keep its digits.
 */
export function typedValue(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return text
  }
  if (typeof value === 'number') return String(value) === text.trim() ? value : text
  requireKeptDigits(text)
  return value
}

/** The value of JSON. Throws with exit code 2 if the text is not JSON, or if a number is too large to keep its digits. */
export function jsonValue(text: string): unknown {
  requireJson(text)
  requireKeptDigits(text)
  return JSON.parse(text)
}

/** Throws with exit code 2 if the text is not JSON. */
export function requireJson(text: string): void {
  try {
    JSON.parse(text)
  } catch (error) {
    throw new CommandError(`The data is not JSON: ${(error as Error).message}.`, exitCodes.usage)
  }
}

const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g

function requireKeptDigits(json: string): void {
  const lost = json.match(stringOrNumber)?.find((token) => !token.startsWith('"') && !keepsDigits(token))
  if (lost === undefined) return
  throw new CommandError(`The number ${lost} has too many digits. Write it as a text: "${lost}".`, exitCodes.usage)
}

function keepsDigits(number: string): boolean {
  const value = Number(number)
  if (!Number.isFinite(value)) return false
  return !/^-?\d+$/.test(number) || BigInt(value) === BigInt(number)
}
