import type { AuditRecord } from '../../api/schemas.ts'
import { actorText } from '../../components/actor.ts'
import { type Option, withChosen } from '../../components/chosen-option.ts'
import { dayAndTime, moment } from '../../components/format.ts'
import { usePages } from '../../components/pages.tsx'
import type { Column } from '../../components/table.tsx'
import { useTyped } from '../../components/typed.ts'
import { linkTo, place, setParams } from '../../state/url.ts'
import { actionWords, detailText, objectOf, wordsOfAction } from './audit-words.ts'
import { List, SectionHead } from './section.tsx'
import css from './settings.module.css'

const columns: Column<AuditRecord>[] = [
  {
    title: 'Time',
    cell: ({ at, requestId }) => (
      <span class="one-line" title={requestId ? `${moment(at)}, request ${requestId}` : moment(at)}>
        {dayAndTime(Date.parse(at))}
      </span>
    ),
  },
  { title: 'What happened', cell: (record) => <Sentence record={record} /> },
  { title: 'Details', cell: (record) => <span class="hint">{detailText(record) || '–'}</span>, optional: true },
]

/** "Ada deleted the alert rule Offline": each part shows only its own records when it is chosen. */
function Sentence({ record }: { record: AuditRecord }) {
  const { actor, actorName, action, subjectId } = record
  const object = objectOf(record)
  return (
    <span class={css.sentence}>
      <Part name="actor" value={actor} text={actorText(actor, actorName)} isStrong />{' '}
      <Part name="action" value={action} text={wordsOfAction(action)} />{' '}
      {object === undefined ? null : <Part name="subject" value={subjectId} text={object} isStrong />}
    </span>
  )
}

type PartProps = { name: 'actor' | 'action' | 'subject'; value: string; text: string; isStrong?: boolean }

const Part = ({ name, value, text, isStrong = false }: PartProps) => (
  <a
    class={`${css.part} ${isStrong ? css.strong : ''}`}
    title={`Show only records with ${value}`}
    href={linkTo('settings', { ...place.value.params, [name]: value })}
  >
    {text}
  </a>
)

/** An actor and an object by their ids, which a chosen part of a sentence fills in. */
const idFilters = [
  { name: 'actor', label: 'Who', placeholder: 'Any' },
  { name: 'subject', label: 'Object', placeholder: 'Any' },
]

function IdFilter({ name, label, placeholder }: { name: string; label: string; placeholder: string }) {
  const field = useTyped(place.value.params[name] ?? '', (text) => setParams({ [name]: text.trim() || null }))
  return (
    <label class="field grow">
      <span>{label}</span>
      <input class="input" type="search" placeholder={placeholder} {...field} />
    </label>
  )
}

function ActionFilter() {
  const chosen = place.value.params.action ?? ''
  const known = Object.keys(actionWords).map((action): Option => [action, headingOf(action)])
  return (
    <label class="field grow">
      <span>What happened</span>
      <select
        class="input"
        value={chosen}
        onChange={(event) => setParams({ action: event.currentTarget.value || null })}
      >
        <option value="">Anything</option>
        {withChosen(known, chosen, headingOf).map(([action, text]) => (
          <option key={action} value={action}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}

function headingOf(action: string): string {
  const words = wordsOfAction(action)
  return words.charAt(0).toUpperCase() + words.slice(1)
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
        about="Every change in the organization, with its author. Choose a word of a sentence to see only such changes."
      />
      <div class={`toolbar ${css.auditFilters}`}>
        <ActionFilter />
        {idFilters.map((filter) => (
          <IdFilter key={filter.name} {...filter} />
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
