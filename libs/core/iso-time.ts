const msPerMinute = 60_000
const msPerSecond = 1_000
const digits = (count: number, width: number) =>
  Array.from({ length: count }, (_, value) => String(value).padStart(width, '0'))
const seconds = digits(60, 2)
const milliseconds = digits(1_000, 3)
/** `2026-11-25T08:35:` by minute. Most times of a response are from the same few minutes. */
const beginnings = new Map<number, string>()
const maxBeginnings = 2_000

/** Returns what `new Date(ms).toISOString()` returns, several times faster. For whole milliseconds since 1970. */
export function isoTime(ms: number): string {
  const minute = Math.floor(ms / msPerMinute)
  let beginning = beginnings.get(minute)
  if (beginning === undefined) {
    if (beginnings.size >= maxBeginnings) beginnings.clear()
    beginning = new Date(minute * msPerMinute).toISOString().slice(0, -'00.000Z'.length)
    beginnings.set(minute, beginning)
  }
  const rest = ms - minute * msPerMinute
  return `${beginning}${seconds[Math.floor(rest / msPerSecond)]}.${milliseconds[rest % msPerSecond]}Z`
}
