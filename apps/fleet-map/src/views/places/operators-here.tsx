import { get, isNotInPlan } from '../../api/client.ts'
import type { AnswerOf, Operation } from '../../api/operations.ts'
import { count, measured } from '../../components/format.ts'
import { useResource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { nameOfOperator, type OperatorNames, readOperatorNames } from '../../state/operators.ts'
import { percent } from '../overview/signal-shares.ts'

type Operator = AnswerOf<Operation<'get', '/fleet/operators'>>['items'][number]

const days = 30
const everyMs = 60_000

/** Ranks the operators by what the organization's devices measured inside a place. */
export function OperatorsHere({ org, placeId }: { org: string; placeId: string }) {
  const found = useResource(
    `operators ${placeId}`,
    async (signal) => {
      const query = { orgId: org, placeId, sinceMinutes: days * 1_440 }
      const [{ items }, names] = await Promise.all([
        get('/fleet/operators', { signal, query }),
        readOperatorNames(org, signal),
      ])
      return { items, names }
    },
    { everyMs },
  )
  // A plan without coverage has no operators to rank.
  if (found.error && isNotInPlan(found.error)) return null
  return (
    <section class="stack" aria-label="Operators in this place">
      <h2>Operators here</h2>
      {found.error ? <Failure error={found.error} retry={found.reload} /> : null}
      {found.value ? <Ranking {...found.value} /> : found.error ? null : <Loading rows={2} />}
    </section>
  )
}

function Ranking({ items, names }: { items: readonly Operator[]; names: OperatorNames }) {
  if (items.length === 0) return <p class="label">No operator was measured here in the last {days} days.</p>
  const columns: Column<Operator>[] = [
    { title: 'Operator', cell: ({ plmn }) => nameOfOperator(names, plmn) },
    { title: 'Service', cell: ({ serviceRatio }) => percent(serviceRatio) },
    { title: 'Median signal', cell: ({ rsrpDbm }) => measured(rsrpDbm.p50, 'dBm') },
    { title: 'Measurements', cell: ({ samples }) => count(samples), optional: true },
  ]
  return (
    <>
      <p class="label">Best first, from the measurements of your devices in the last {days} days.</p>
      <Table caption="Operators in this place" columns={columns} rows={items} keyOf={({ plmn }) => plmn} />
    </>
  )
}
