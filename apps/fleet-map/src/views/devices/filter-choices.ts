import { all, get } from '../../api/client.ts'
import { useResource } from '../../components/resource.ts'
import { labelOperators } from '../../state/operators.ts'
import { holds } from '../../state/session.ts'
import { readCounts } from '../../state/tags.ts'
import { place } from '../../state/url.ts'
import type { FilterNames } from './filter-words.ts'

type Choices = readonly [value: string, label: string][]

/** What an organization has that devices can be filtered by. */
export type FilterChoices = { groups: Choices; places: Choices; operators: Choices; firmware: Choices }

const none: Choices = []

/** Reads what devices of an organization can be filtered by, once it is wanted or the address names some of it. '' has none. */
export function useFilterChoices(org: string, isWanted: boolean): FilterChoices {
  const { group, place: placeId, plmn } = place.value.params
  const groups = useChoices('groups', holds(org, 'group:read') && (isWanted || group) ? org : '', async () =>
    (await all(`/orgs/${org}/groups`)).map(({ id, name }): [string, string] => [id, name]),
  )
  const canSeeMap = holds(org, 'fleet:read')
  const places = useChoices('places', canSeeMap && (isWanted || placeId) ? org : '', async () =>
    (await all(`/orgs/${org}/places`)).map(({ id, name }): [string, string] => [id, name]),
  )
  const operators = useChoices('operators', canSeeMap && (isWanted || plmn) ? org : '', async (signal) => {
    const { fleet } = await get('/fleet/tiles.json', { signal, query: { orgId: org, layers: ['devices'] } })
    return labelOperators(fleet?.operators ?? []).map(({ plmn: code, label }): [string, string] => [code, label])
  })
  const firmware = useChoices('firmware', isWanted ? org : '', async (signal) =>
    (await readCounts(org, {}, signal)).firmware.map(({ value }): [string, string] => [value, value]),
  )
  return { groups, places, operators, firmware }
}

const useChoices = (what: string, org: string, read: (signal: AbortSignal) => Promise<Choices>): Choices =>
  useResource(`${what} to filter by ${org}`, async (signal) => (org ? read(signal) : none)).value ?? none

/** The names of what the address has by its id. */
export function namesIn({ groups, places, operators }: FilterChoices): FilterNames {
  const { group, place: placeId, plmn } = place.value.params
  const nameIn = (choices: Choices, id: string | undefined) => choices.find(([value]) => value === id)?.[1]
  return { group: nameIn(groups, group), place: nameIn(places, placeId), plmn: nameIn(operators, plmn) }
}
