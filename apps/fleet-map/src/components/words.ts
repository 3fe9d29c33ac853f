/** Splits a text at commas, semicolons and line breaks. Removes blanks, empty words and duplicates. */
export const wordsOf = (text: string): string[] => [
  ...new Set(
    text
      .split(/[,;\n]/)
      .map((word) => word.trim())
      .filter(Boolean),
  ),
]
