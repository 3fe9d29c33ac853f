import { type BoundingBox, normalizeLongitude, type Point } from './geo.ts'

// Longitudes are angles: −180 and 180 are the same meridian, and the shorter way between two longitudes can cross it.

/** Longitude and latitude in degrees, and other numbers that belong to the position, such as a time. */
type Position = readonly [lon: number, lat: number, ...others: number[]]
type NewPosition = [lon: number, lat: number, ...others: number[]]

/** How many turns of 360° bring a longitude within 180° of another. */
function turnsNear(lon: number, near: number): number {
  const turns = (near - lon) / 360
  return Math.sign(turns) * Math.ceil(Math.abs(turns) - 0.5)
}

/** The same longitude within 180° of another; it can be beyond ±180°. */
export const longitudeNear = (lon: number, near: number): number => lon + 360 * turnsNear(lon, near)

/** The line with longitudes that do not jump, as a flat map draws it. They can be beyond ±180°. */
export function unwrapLine(line: readonly Position[]): NewPosition[] {
  const unwrapped: NewPosition[] = []
  for (const [lon, ...others] of line) unwrapped.push([longitudeNear(lon, unwrapped.at(-1)?.[0] ?? lon), ...others])
  return unwrapped
}

/** A closed ring as a flat map draws it. A ring around a pole is closed along the edge of the map. */
export function unwrapRing(ring: readonly Position[]): NewPosition[] {
  const unwrapped = unwrapLine(ring)
  const [first, last] = [unwrapped[0], unwrapped.at(-1)]
  if (!first || !last || Math.abs(last[0] - first[0]) < 180) return unwrapped
  const pole = poleNear(first)
  return [...unwrapped, [last[0], pole], [first[0], pole], first]
}

const poleNear = ([, lat]: Position): number => (lat < 0 ? -90 : 90)

/** The parts of a line between its crossings of the 180th meridian, as RFC 7946 (3.1.9) asks for. Other numbers are interpolated too. */
export function splitLine(line: readonly Position[]): NewPosition[][] {
  if (!hasJump(line)) return [line.map((position) => [...position])]
  const path = withCrossings(line)
  const worlds = worldsOf(path)
  const parts: NewPosition[][] = []
  let open: NewPosition[] = []
  for (const [index, { position, turn }] of path.entries()) {
    const [lon, ...others] = position
    const at = (world: number): NewPosition => [lon + 360 * (turn - world), ...others]
    // The leg to this position, and the one from it.
    const [here = 0, next = here] = [worlds[index - 1] ?? worlds[0], worlds[index]]
    open.push(at(here))
    if (here === next) continue
    parts.push(open)
    open = [at(next)]
  }
  return [...parts, open]
}

const hasJump = (line: readonly Position[]): boolean =>
  line.some(([lon], index) => Math.abs(lon - (line[index - 1]?.[0] ?? lon)) > 180)

/** A position on a line that does not jump: `turn` is how many times the line has gone around the globe to the east. */
type Step = { position: Position; turn: number }

/** The positions of a line, and those between them where it crosses the meridian. */
function withCrossings(line: readonly Position[]): Step[] {
  const path: Step[] = []
  let before: Step | undefined
  for (const position of line) {
    const turn = before ? before.turn + turnsNear(position[0], before.position[0]) : 0
    const here = { position, turn }
    if (before && turn !== before.turn) path.push(...crossingBetween(before, here))
    path.push(here)
    before = here
  }
  return path
}

function crossingBetween(a: Step, b: Step): Step[] {
  const turn = Math.min(a.turn, b.turn)
  const [from, to] = [a.position[0] + 360 * (a.turn - turn), b.position[0] + 360 * (b.turn - turn)]
  const fraction = (180 - from) / (to - from)
  if (!(fraction > 0 && fraction < 1)) return []
  const others = a.position
    .slice(1)
    .map((value, index) => value + ((b.position[index + 1] ?? value) - value) * fraction)
  return [{ position: [180, others[0] ?? 0, ...others.slice(1)], turn }]
}

/** For each leg, the turn of the globe in which it lies. A leg along the meridian is in that of the leg before it. */
function worldsOf(path: readonly Step[]): number[] {
  const isOnMeridian = ({ position }: Step) => Math.abs(position[0]) === 180
  const worlds = path.slice(1).map((b, index) => {
    const a = path[index] ?? b
    if (isOnMeridian(a)) return isOnMeridian(b) ? undefined : b.turn
    return a.turn
  })
  let world = worlds.find((known) => known !== undefined) ?? path[0]?.turn ?? 0
  return worlds.map((known) => {
    world = known ?? world
    return world
  })
}

/**
 * The parts of a closed ring at both sides of the 180th meridian, each a closed ring with the same direction (RFC 7946, 3.1.9). A
 * ring around a pole contains the pole that is nearer to its first position.
 */
export function splitRing(ring: readonly Position[]): NewPosition[][] {
  const chains = splitLine(ring)
  const [first, last] = [chains[0], chains.at(-1)]
  if (!first || !last) return []
  if (first[0]?.[0] === last.at(-1)?.[0]) {
    if (chains.length === 1) return chains
    // The ring does not begin at the meridian.
    chains[0] = [...(chains.pop() ?? []), ...first.slice(1)]
  }
  return joinChains(chains, poleNear(first[0] ?? [0, 0]))
}

/**
 * Joins the chains of a ring, each from one crossing of the meridian to the next one. Between two neighbouring crossings, the
 * meridian is alternately outside and inside the ring. An odd number of crossings has the pole inside.
 */
function joinChains(chains: NewPosition[][], pole: number): NewPosition[][] {
  const crossings = chains.map((chain, index) => ({ index, lat: chain.at(-1)?.[1] ?? 0 }))
  if (chains.length % 2 === 1) crossings.push({ index: -1, lat: pole })
  crossings.sort((a, b) => a.lat - b.lat)
  const partners = new Map(crossings.map(({ index }, order) => [index, crossings[order ^ 1]?.index ?? -1]))
  const left = new Set(chains.keys())
  const rings: NewPosition[][] = []
  for (const start of left) {
    const ring: NewPosition[] = []
    for (let at = start; left.delete(at); ) {
      const chain = chains[at] ?? []
      ring.push(...chain)
      const partner = partners.get(at) ?? -1
      const side = chain.at(-1)?.[0] ?? 180
      if (partner < 0) ring.push([side, pole], [-side, pole])
      // The chain that begins at a crossing follows the one that ends there.
      at = ((partner < 0 ? at : partner) + 1) % chains.length
    }
    const [first] = ring
    const last = ring.at(-1)
    if (first && (first[0] !== last?.[0] || first[1] !== last[1])) ring.push([...first])
    rings.push(ring)
  }
  return rings
}

/** The parts of a ring between its edges along the 180th meridian. */
function chainsOf(ring: readonly Position[]): Position[][] {
  const edges = ring.slice(1).map((to, index): [Position, Position] => [ring[index] ?? to, to])
  const isOnMeridian = ([from, to]: [Position, Position]) => Math.abs(from[0]) === 180 && from[0] === to[0]
  const start = edges.findIndex(isOnMeridian)
  if (start < 0) return [[...ring]]
  const chains: Position[][] = []
  let open: Position[] | undefined
  for (const edge of [...edges.slice(start), ...edges.slice(0, start)]) {
    if (isOnMeridian(edge)) open = undefined
    else if (open) open.push(edge[1])
    else {
      open = [...edge]
      chains.push(open)
    }
  }
  return chains
}

/** The ring that `splitRing` split. Positions that only the split added are left out. */
export function joinRings(rings: readonly (readonly Position[])[]): [lon: number, lat: number][] {
  const left = rings.flatMap(chainsOf)
  const ring: Position[] = []
  for (let chain = left.shift(); chain; ) {
    const [lon, lat] = chain.at(-1) ?? [0, 0]
    // The next chain begins at the same place of the meridian, at its other side.
    const farDeg = ([start]: Position[]) => (start?.[0] === -lon ? Math.abs(start[1] - lat) : Infinity)
    const next = left.toSorted((a, b) => farDeg(a) - farDeg(b))[0]
    ring.push(...chain.slice(0, next && farDeg(next) > 0 ? undefined : -1))
    if (next) left.splice(left.indexOf(next), 1)
    chain = next
  }
  const kept = ring.filter((position, index) => {
    if (Math.abs(position[0]) !== 180) return true
    const [a, b, c] = unwrapLine([
      ring.at(index - 1) ?? position,
      position,
      ring[(index + 1) % ring.length] ?? position,
    ])
    return !a || !b || !c || Math.abs((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) > 1e-9
  })
  return [...kept, ...kept.slice(0, 1)].map(([lon, lat]) => [lon, lat])
}

/** The ring of a polygon, or of one whose sides `polygonGeometry` made; undefined for several polygons. */
export function onlyRing(rings: readonly (readonly Position[])[]): readonly Position[] | undefined {
  if (rings.length < 2) return rings[0]
  const hasOtherSide = (ring: readonly Position[]) =>
    ring.some(
      ([lon, lat]) => Math.abs(lon) === 180 && rings.some((other) => other.some(([x, y]) => x === -lon && y === lat)),
    )
  if (!rings.every(hasOtherSide)) return undefined
  const joined = joinRings(rings)
  return splitRing(joined).length === rings.length ? joined : undefined
}

/** A polygon of GeoJSON with this ring, or its parts at both sides of the 180th meridian. */
export function polygonGeometry(ring: readonly Position[]) {
  const parts = splitRing(ring).map((part) => part.map(([lon, lat]): [number, number] => [lon, lat]))
  return parts.length > 1
    ? { type: 'MultiPolygon' as const, coordinates: parts.map((part) => [part]) }
    : { type: 'Polygon' as const, coordinates: parts }
}

/** The western and the eastern end of the smallest interval with all longitudes, which are in −180..180; west > east across 180°. */
export function longitudeSpan(longitudes: readonly number[]): [west: number, east: number] | undefined {
  const sorted = Float64Array.from(longitudes, (lon) => (lon === 180 ? -180 : lon)).sort()
  const [first, last] = [sorted[0], sorted.at(-1)]
  if (first === undefined || last === undefined) return undefined
  if (first === last) return [longitudes[0] ?? first, longitudes[0] ?? first]
  let [span, widest] = [[first, last] as [number, number], first + 360 - last]
  for (const [index, west] of sorted.entries()) {
    const east = sorted[index - 1] ?? west
    if (west - east > widest) [span, widest] = [[west, east === -180 ? 180 : east], west - east]
  }
  return span
}

/** The intervals of longitudes that a box consists of, each from west to east. A box at the meridian has both its longitudes. */
export function longitudeRanges([west, , east]: BoundingBox): [from: number, to: number][] {
  if (west > east)
    return [
      [west, 180],
      [-180, east],
    ]
  const ranges: [number, number][] = [[west, east]]
  if (east === 180 && west > -180) ranges.push([-180, -180])
  if (west === -180 && east < 180) ranges.push([180, 180])
  return ranges
}

/** The smallest box around positions; null without any. */
export function smallestBox(points: readonly Point[]): BoundingBox | null {
  const span = longitudeSpan(points.map(({ lon }) => lon))
  if (!span) return null
  let [south, north] = [Infinity, -Infinity]
  for (const { lat } of points) [south, north] = [Math.min(south, lat), Math.max(north, lat)]
  return [span[0], south, span[1], north]
}

/** The mean of longitudes that are less than 180° apart. */
export function meanLongitude(longitudes: readonly number[]): number {
  const [first = 0] = longitudes
  return normalizeLongitude(longitudes.reduce((sum, lon) => sum + longitudeNear(lon, first), 0) / longitudes.length)
}
