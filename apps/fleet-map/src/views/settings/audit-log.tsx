import type { AuditRecord } from '../../api/schemas.ts'
import { dayAndTime, moment } from '../../components/format.ts'
import { usePages } from '../../components/pages.tsx'
import type { Column } from '../../components/table.tsx'
import { useTyped } from '../../components/typed.ts'
import { place, setParams } from '../../state/url.ts'
import { List, SectionHead } from './section.tsx'
import css from './settings.module.css'

const columns: Column<AuditRecord>[] = [
  {
    title: 'Time',
    cell: ({ at }) => (
      <span class="one-line" title={moment(at)}>
        {dayAndTime(Date.parse(at))}
      </span>
    ),
  },
  { title: 'Action', cell: ({ action }) => <Filter name="action" value={action} /> },
  { title: 'Who', cell: ({ actor }) => <Filter name="actor" value={actor} /> },
  {
    title: 'What',
    cell: ({ subjectType, subjectId }) => (
      <>
        <span class="hint">{subjectType.replaceAll('_', ' ')}</span> <Filter name="subject" value={subjectId} />
      </>
    ),
    optional: true,
  },
  {
    title: 'Details',
    cell: ({ detail, requestId }) => (
      <span class="hint" title={requestId ? `Request ${requestId}` : ''}>
        {Object.entries(detail)
          .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
          .join(', ') || '–'}
      </span>
    ),
    optional: true,
  },
]

/** A value that shows only its own records when it is chosen. */
const Filter = ({ name, value }: { name: string; value: string }) => (
  <button
    type="button"
    class={`${css.link} ${value.length > 24 ? css.long : css.whole}`}
    title={`Show only records with ${value}`}
    onClick={() => setParams({ [name]: value })}
  >
    {shortened(value)}
  </button>
)

/** A user without the issuer, and a UUID by its end. The address and the title have the whole value. */
function shortened(value: string): string {
  if (value.startsWith('user:')) return value.split('|').at(-1) ?? value
  return /^[0-9a-f-]{36}$/.test(value) ? `…${value.slice(-12)}` : value
}

const filters = [
  { name: 'action', label: 'Action', placeholder: 'api_key.created' },
  { name: 'actor', label: 'Who', placeholder: 'key:… or user:…' },
  { name: 'subject', label: 'Id of the object', placeholder: 'Any' },
]

function TextFilter({ name, label, placeholder }: { name: string; label: string; placeholder: string }) {
  const field = useTyped(place.value.params[name] ?? '', (text) => setParams({ [name]: text.trim() || null }))
  return (
    <label class="field grow">
      <span>{label}</span>
      <input class="input" type="search" placeholder={placeholder} {...field} />
    </label>
  )
}

/** A day in local time as the start of it, `days` later. */
const dayStart = (day: string | undefined, days = 0): string | null => {
  if (!day) return null
  const date = new Date(`${day}T00:00`)
  date.setDate(date.getDate() + days)
  return Number.isNaN(date.getTime()) ? null : date.toISOString()
}

/** Who did what in the organization. The filters are kept in the address. */
export function AuditLog({ org }: { org: string }) {
  const { params } = place.value
  const { action, actor, subject, from, to } = params
  const query = { action, actor, subjectId: subject, from: dayStart(from), to: dayStart(to, 1) }
  const list = usePages(`/orgs/${org}/audit`, query)
  const isFiltered = [action, actor, subject, from, to].some(Boolean)
  return (
    <>
      <SectionHead
        title="Audit log"
        about="Every change in the organization, with its author. Choose a value to filter."
      />
      <div class={`toolbar ${css.auditFilters}`}>
        {filters.map((filter) => (
          <TextFilter key={filter.name} {...filter} />
        ))}
        {(['from', 'to'] as const).map((name) => (
          <label key={name} class="field">
            <span>{name === 'from' ? 'From day' : 'To day'}</span>
            <input
              class="input"
              type="date"
              value={params[name] ?? ''}
              onChange={(event) => setParams({ [name]: event.currentTarget.value || null })}
            />
          </label>
        ))}
        {isFiltered ? (
          <button
            type="button"
            class="button quiet"
            onClick={() => setParams({ action: null, actor: null, subject: null, from: null, to: null })}
          >
            Clear filters
          </button>
        ) : null}
      </div>
      <List list={list} caption="Audit records" columns={columns} keyOf={({ id }) => id} empty="No records">
        <p>{isFiltered ? 'No record matches the filters.' : 'Changes appear here as soon as they happen.'}</p>
      </List>
    </>
  )
}
