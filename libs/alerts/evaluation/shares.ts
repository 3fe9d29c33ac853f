import type { FairRounds, Piece } from '#core/fair-rounds'
import { bisectOwners } from '#postgres/bisect'

/** Most combinations of a rule and a device that one statement tests. A statement tests at least one rule. */
const maxPairs = 200_000

/** Divides the rules of an organization with so many devices among statements. */
export function slicesOf<Rule>(rules: readonly Rule[], devices: number): Rule[][] {
  const rulesAtOnce = Math.max(1, Math.floor(maxPairs / Math.max(1, devices)))
  return Array.from({ length: Math.ceil(rules.length / rulesAtOnce) }, (_, index) =>
    rules.slice(index * rulesAtOnce, (index + 1) * rulesAtOnce),
  )
}

// Together, small organizations need a turn no longer than that of a large one.
const maxSmallPairs = 5_000
const maxPairsTogether = 20_000
const maxTogether = 100

/** Whether the evaluation of an organization is so small that others share its statements. */
export const isSmall = (rules: number, devices: number): boolean => rules * Math.max(1, devices) <= maxSmallPairs

/** Divides items of small organizations among shared statements. `pairsOf`: rules by devices. */
export function shared<Item>(items: readonly Item[], pairsOf: (item: Item) => number): Item[][] {
  const groups: Item[][] = []
  let pairs = 0
  for (const item of items) {
    const last = groups.at(-1)
    pairs += Math.max(1, pairsOf(item))
    if (last && last.length < maxTogether && pairs <= maxPairsTogether) last.push(item)
    else {
      groups.push([item])
      pairs = Math.max(1, pairsOf(item))
    }
  }
  return groups
}

/** A part of the rules of an organization, which has so many devices. */
type Unit = { organizationId: string; devices: number }

type Evaluation<Item extends Unit> = {
  units: readonly Item[]
  /** Whether an organization with these units is so small that it shares a turn. */
  isSharing: (own: readonly Item[]) => boolean
  /** The work of an organization with a turn of its own. */
  alone: (own: readonly Item[]) => Piece[]
  /** The work on units of small organizations. They share statements if they have the same name. */
  together: readonly ((some: readonly Item[]) => ReturnType<Piece>)[]
  nameOf?: (unit: Item) => string
  rulesOf: (unit: Item) => number
}

const organizationOf = ({ organizationId }: Unit): string => organizationId

/** Evaluates rules in turns of organizations. Small organizations share a turn. Returns the number of changed alerts. */
export function evaluateInTurns<Item extends Unit>(
  rounds: FairRounds,
  { units, isSharing, alone, together, nameOf = () => 'small organizations', rulesOf }: Evaluation<Item>,
): Promise<number> {
  const work = new Map<string, Piece[]>()
  const sharing: Item[] = []
  for (const [organizationId, own] of Map.groupBy(units, organizationOf)) {
    if (isSharing(own)) sharing.push(...own)
    else work.set(organizationId, alone(own))
  }
  for (const [name, some] of Map.groupBy(sharing, nameOf))
    for (const [index, group] of shared(some, (unit) => rulesOf(unit) * unit.devices).entries())
      work.set(
        `${name} ${index + 1}`,
        together.map((piece) => sharedPiece(group, piece, rounds)),
      )
  return rounds.run({ owners: [...work.keys()], workOf: (owner) => work.get(owner) ?? [] })
}

/** A piece for units of several organizations. One that fails is reported, and the others are processed without it. */
const sharedPiece =
  <Item extends Unit>(
    units: readonly Item[],
    work: (some: readonly Item[]) => ReturnType<Piece>,
    rounds: Pick<FairRounds, 'report'>,
  ): Piece =>
  async () => {
    const failures = new Map<string, unknown>()
    const total = { changes: 0, hasMore: false }
    await bisectOwners(
      units,
      organizationOf,
      async (some) => {
        const { changes, hasMore } = await work(some)
        total.changes += changes
        total.hasMore ||= hasMore
      },
      (organizationId, error) => failures.set(organizationId, error),
    )
    for (const [organizationId, error] of failures) rounds.report(error, organizationId)
    return total
  }
