const drawn = new Set<string>()

/** Notes in the browser's performance timeline, once a page load, that a part of the picture is on the screen. */
export function markDrawn(part: 'devices' | 'coverage'): void {
  if (drawn.has(part)) return
  drawn.add(part)
  performance.mark(`routerfleet:${part}-drawn`)
}
