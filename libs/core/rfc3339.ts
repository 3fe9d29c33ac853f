const daysBeforeMonth = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]
const daysInMonth = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const zero = 48
const nine = 57

/** The number made of `length` digits at `start`, NaN when one of them is none. */
function digits(text: string, start: number, length: number): number {
  let value = 0
  for (let at = start; at < start + length; at++) {
    const code = text.charCodeAt(at)
    if (!(code >= zero && code <= nine)) return Number.NaN
    value = value * 10 + code - zero
  }
  return value
}

const isLeapYear = (year: number) => (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0

function daysSinceEpoch(year: number, month: number, day: number): number {
  const before = year - 1
  const leapDays = Math.floor(before / 4) - Math.floor(before / 100) + Math.floor(before / 400)
  const afterFebruary = month > 2 && isLeapYear(year) ? 1 : 0
  return year * 365 + leapDays + (daysBeforeMonth[month - 1] ?? 0) + afterFebruary + day - 1 - 719_527
}

/**
 * Epoch milliseconds of an RFC 3339 date-time, null when the text is none. Fractions beyond milliseconds are cut, a
 * leap second is the second after it. Not `Date.parse`, which accepts much more than RFC 3339 and is slower: this runs for
 * every sample with a text time.
 */
export function parseRfc3339(text: string): number | null {
  const year = digits(text, 0, 4)
  const month = digits(text, 5, 2)
  const day = digits(text, 8, 2)
  const hour = digits(text, 11, 2)
  const minute = digits(text, 14, 2)
  const second = digits(text, 17, 2)
  const punctuated =
    text[4] === '-' && text[7] === '-' && /[Tt ]/.test(text[10] ?? '') && text[13] === ':' && text[16] === ':'
  const inRange = month >= 1 && month <= 12 && day >= 1 && hour <= 23 && minute <= 59 && second <= 60
  if (!punctuated || !inRange || day > (daysInMonth[month - 1] ?? 0)) return null
  if (month === 2 && day === 29 && !isLeapYear(year)) return null

  let at = 19
  let millisecond = 0
  if (text[at] === '.') {
    let scale = 100
    const first = ++at
    for (let digit = digits(text, at, 1); !Number.isNaN(digit); digit = digits(text, ++at, 1)) {
      millisecond += digit * scale
      scale = scale > 1 ? scale / 10 : 0
    }
    if (at === first) return null
  }
  const offsetMinutes = parseOffset(text, at)
  if (offsetMinutes === null) return null
  const minutes = daysSinceEpoch(year, month, day) * 1440 + hour * 60 + minute - offsetMinutes
  const epochMs = minutes * 60_000 + second * 1000 + millisecond
  return Number.isNaN(epochMs) ? null : epochMs
}

function parseOffset(text: string, at: number): number | null {
  const sign = text[at]
  if (sign === 'Z' || sign === 'z') return text.length === at + 1 ? 0 : null
  if ((sign !== '+' && sign !== '-') || text[at + 3] !== ':' || text.length !== at + 6) return null
  const hours = digits(text, at + 1, 2)
  const minutes = digits(text, at + 4, 2)
  if (!(hours <= 23 && minutes <= 59)) return null
  return (sign === '-' ? -1 : 1) * (hours * 60 + minutes)
}
