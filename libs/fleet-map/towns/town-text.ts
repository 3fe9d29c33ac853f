/** Letters that have no form without a mark. */
const plainLetters: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', ħ: 'h', ı: 'i', ŧ: 't' },
}

/** The name of a town, or a part of it, without case and accents: "Malmö" and "malmo" are the same. */
export const townText = (name: string): string =>
  name
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/\P{ASCII}/gu, (letter) => plainLetters[letter] ?? letter)
