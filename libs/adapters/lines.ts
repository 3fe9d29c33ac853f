/** Returns the lines of a text. Some receivers end them with a carriage return alone. */
export const linesOf = (text: string): string[] => text.split(/\r\n?|\n/)
