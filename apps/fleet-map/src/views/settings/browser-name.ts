const browsers: [mark: RegExp, name: string][] = [
  [/Edg\//, 'Edge'],
  [/OPR\//, 'Opera'],
  [/Firefox\//, 'Firefox'],
  [/Chrome\//, 'Chrome'],
  [/Safari\//, 'Safari'],
]

const systems: [mark: RegExp, name: string][] = [
  [/iPhone|iPad/, 'iOS'],
  [/Android/, 'Android'],
  [/Windows/, 'Windows'],
  [/Mac OS X/, 'macOS'],
  [/Linux/, 'Linux'],
]

const nameIn = (marks: typeof browsers, text: string) => marks.find(([mark]) => mark.test(text))?.[1]

/** Names the browser of a `User-Agent` header, such as "Firefox on Windows". */
export function browserName(userAgent: string | null): string {
  const browser = nameIn(browsers, userAgent ?? '')
  const system = nameIn(systems, userAgent ?? '')
  return browser && system ? `${browser} on ${system}` : (browser ?? 'Unknown browser')
}
