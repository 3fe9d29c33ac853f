import { all, get } from '../../api/client.ts'
import { useResource } from '../../components/resource.ts'
import { labelOperators, nameOfOperator } from '../../state/operators.ts'
import { holds } from '../../state/session.ts'
import { readCounts } from '../../state/tags.ts'
import { type FilterNames, filterText, type WordedFilter } from './filter-words.ts'

type Choices = readonly [value: string, label: string][]

/** What an organization has that devices can be filtered by. */
export type FilterChoices = { groups: Choices; places: Choices; operators: Choices; firmware: Choices }

const none: Choices = []

/**
 * Reads what devices of an organization can be filtered by, as far as one of the filters names it, or all of it once it is wanted.
 * '' has none.
 */
export function useFilterChoices(org: string, filters: readonly WordedFilter[], isWanted: boolean): FilterChoices {
  const names = (member: 'groupId' | 'placeId' | 'plmn') => isWanted || filters.some((filter) => filter[member])
  const groups = useChoices('groups', holds(org, 'group:read') && names('groupId') ? org : '', async () =>
    (await all(`/orgs/${org}/groups`)).map(({ id, name }): [string, string] => [id, name]),
  )
  const canSeeMap = holds(org, 'fleet:read')
  const places = useChoices('places', canSeeMap && names('placeId') ? org : '', async () =>
    (await all(`/orgs/${org}/places`)).map(({ id, name }): [string, string] => [id, name]),
  )
  const operators = useChoices('operators', canSeeMap && names('plmn') ? org : '', async (signal) => {
    const { fleet } = await get('/fleet/tiles.json', { signal, query: { orgId: org, layers: ['devices'] } })
    return labelOperators(fleet?.operators ?? []).map(({ plmn, label }): [string, string] => [plmn, label])
  })
  const firmware = useChoices('firmware', isWanted ? org : '', async (signal) =>
    (await readCounts(org, {}, signal)).firmware.map(({ value }): [string, string] => [value, value]),
  )
  return { groups, places, operators, firmware }
}

const useChoices = (what: string, org: string, read: (signal: AbortSignal) => Promise<Choices>): Choices =>
  useResource(`${what} to filter by ${org}`, async (signal) => (org ? read(signal) : none), { isShared: true }).value ??
  none

/** The names of what a filter has by its id. */
export function namesIn({ groups, places, operators }: FilterChoices, filter: WordedFilter): FilterNames {
  const nameIn = (choices: Choices, id: string | undefined) => choices.find(([value]) => value === id)?.[1]
  return {
    groupId: nameIn(groups, filter.groupId),
    placeId: nameIn(places, filter.placeId),
    plmn: filter.plmn && nameOfOperator(new Map(operators), filter.plmn),
  }
}

/** Returns a function that says what filters of an organization's devices ask for. Reads the names that these ones need. */
export function useFilterTexts(org: string, filters: readonly WordedFilter[]): (filter: WordedFilter) => string {
  const choices = useFilterChoices(org, filters, false)
  return (filter) => filterText(filter, namesIn(choices, filter))
}
