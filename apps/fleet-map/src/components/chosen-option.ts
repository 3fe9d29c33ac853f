/** An option of a select: its value and its text. */
export type Option = readonly [value: string, text: string]

/**
 * The options of a select, with one more for a chosen value that is not among them, as an address can have it: the select would
 * show nothing for it.
 */
export const withChosen = (
  options: readonly Option[],
  chosen: string,
  textOf: (value: string) => string = (value) => value,
): readonly Option[] =>
  chosen === '' || options.some(([value]) => value === chosen) ? options : [[chosen, textOf(chosen)], ...options]
