/** The section of a version in the changelog, without its heading. Undefined if there is none, or if it is empty or undated. */
export function notesOf(changelog: string, version: string): string | undefined {
  const sections = changelog.split(/^## /m).slice(1)
  const section = sections.find((text) => text.startsWith(`[${version}] - `))
  const [heading = '', ...lines] = section?.split('\n') ?? []
  const notes = lines.join('\n').trim()
  return /\] - \d{4}-\d{2}-\d{2}$/.test(heading) && notes !== '' ? `${notes}\n` : undefined
}
