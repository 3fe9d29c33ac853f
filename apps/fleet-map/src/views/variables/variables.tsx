import { useState } from 'preact/hooks'
import { useEntity } from '../../components/entity.ts'
import { Failure } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { isSetSecret } from '../../state/profile-settings.ts'
import { holds } from '../../state/session.ts'
import { VariableDialog } from './variable-dialog.tsx'
import type { VariablesAddress } from './variable-rows.ts'
import css from './variables.module.css'

type VariablesProps = { org: string; path: VariablesAddress; about: string }

/** The values to which profiles refer, of the organization, a group or a device. Nothing for a reader who may not see them. */
export function Variables(props: VariablesProps) {
  return holds(props.org, 'config:read') ? <Readable {...props} /> : null
}

function Readable({ org, path, about }: VariablesProps) {
  const [isEditing, setEditing] = useState(false)
  const found = useEntity(path)
  const set = found.value?.value
  const variables = Object.entries(set?.variables ?? {}).sort(([left], [right]) => (left < right ? -1 : 1))
  return (
    <section class={`card panel ${css.variables}`} aria-label="Variables">
      <div class="toolbar">
        <h2 class="grow">Variables</h2>
        {set && 'priority' in set && variables.length > 0 ? <span class="label">Priority {set.priority}</span> : null}
        {holds(org, 'config:write') ? (
          <button type="button" class="button" disabled={!found.value} onClick={() => setEditing(true)}>
            Set variables
          </button>
        ) : null}
      </div>
      {found.error ? <Failure error={found.error} retry={found.reload} /> : null}
      {variables.length > 0 ? (
        <Table caption="Variables" columns={columns} rows={variables} keyOf={([name]) => name} />
      ) : (
        <p class="label">{about}</p>
      )}
      {isEditing && found.value ? (
        <VariableDialog
          path={path}
          entity={found.value}
          onClose={() => setEditing(false)}
          onSaved={() => {
            setEditing(false)
            found.reload()
          }}
        />
      ) : null}
    </section>
  )
}

const columns: Column<[string, unknown]>[] = [
  { title: 'Name', cell: ([name]) => <code>{name}</code> },
  { title: 'Value', cell: ([, value]) => <VariableText value={value} /> },
]

/** A value as people read it. */
export const VariableText = ({ value }: { value: unknown }) =>
  value === null ? (
    <span class="label">Not set</span>
  ) : isSetSecret(value) ? (
    <span class="label">Secret, set</span>
  ) : (
    <span class={css.value}>{typeof value === 'string' ? value : JSON.stringify(value)}</span>
  )
