const decimalNumber = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/

/**
 * The number that a text spells in decimal; null for every other text. `Number` alone also reads an empty text as 0, blanks and
 * hexadecimal digits.
 */
export const parseDecimal = (text: string): number | null => (decimalNumber.test(text) ? Number(text) : null)
