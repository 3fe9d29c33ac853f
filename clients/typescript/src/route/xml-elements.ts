import { RouteFileError } from './position.ts'

/**
 * The start of an element. `path` has the names of the first levels without prefixes, such as `/gpx/trk`. `at` is the offset in
 * the text.
 */
export type XmlElement = { path: string; attributes: string; at: number }

// A path does not grow with the depth of a document. GPX has its points at level 4.
const namedLevels = 5

/** What can stand between tags. Tags in a comment are text. */
const sections = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const
const documentType = /<!DOCTYPE[^[>]*(?:\[[^\]]*\]\s*)?>/iy
const tag = /<(\/?)([^\s<>/"'=]+)(?=[\s/>])((?:[^<>"']|"[^<"]*"|'[^<']*')*)>/y

/** Yields the elements of an XML document in their order. Throws a RouteFileError if the document is not well-formed. */
export function* xmlElements(text: string): Generator<XmlElement> {
  const open: { name: string; path: string; at: number }[] = []
  const invalid = (what: string, at: number) =>
    new RouteFileError(`The file is not valid XML: ${what} in line ${lineAt(text, at)}.`)
  const endOf = (end: string, from: number, at: number): number => {
    const found = text.indexOf(end, from)
    if (found === -1) throw invalid(`"${text.slice(at, from)}" has no end`, at)
    return found + end.length
  }
  for (let at = text.indexOf('<'), next = at; at !== -1; at = text.indexOf('<', next)) {
    const isMarkup = text[at + 1] === '!' || text[at + 1] === '?'
    const section = isMarkup && sections.find(([start]) => text.startsWith(start, at))
    documentType.lastIndex = at
    tag.lastIndex = at
    if (section) next = endOf(section[1], at + section[0].length, at)
    else if (isMarkup && documentType.test(text)) next = documentType.lastIndex
    else {
      const [all, slash, name = '', attributes = ''] = tag.exec(text) ?? []
      if (all === undefined) throw invalid(`"${text.slice(at, at + 20)}" is not a tag`, at)
      next = at + all.length
      const parent = open.at(-1)
      if (slash) {
        if (parent?.name !== name) throw invalid(`</${name}> closes no element`, at)
        open.pop()
      } else {
        const { path: above = '' } = parent ?? {}
        const path = open.length < namedLevels ? `${above}/${name.slice(name.indexOf(':') + 1)}` : above
        yield { path, attributes, at }
        if (!attributes.endsWith('/')) open.push({ name, path, at })
      }
    }
  }
  const last = open.at(-1)
  if (last) throw invalid(`<${last.name}> is not closed`, last.at)
}

const lastCodePoint = 0x10ffff

/** Returns the value of an attribute; undefined if it is missing. */
export function xmlAttribute(attributes: string, name: string): string | undefined {
  const [, double, single] = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)')`).exec(attributes) ?? []
  return (double ?? single)?.replace(/&#(x[0-9a-fA-F]{1,6}|\d{1,7});/g, (reference, digits: string) => {
    const code = Number(digits.startsWith('x') ? `0${digits}` : digits)
    return code <= lastCodePoint ? String.fromCodePoint(code) : reference
  })
}

export const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length
