const drawn = new Set<string>()

/** Adds a performance mark when a part of the map is first drawn. */
export function markDrawn(part: 'devices' | 'coverage'): void {
  if (drawn.has(part)) return
  drawn.add(part)
  performance.mark(`routerfleet:${part}-drawn`)
}
