import { useState } from 'preact/hooks'
import { ApiError, put } from '../../api/client.ts'
import { Conflict } from '../../components/conflict.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { type Entity, ifMatch, readEntity } from '../../components/entity.ts'
import { Icon } from '../../components/icon.tsx'
import {
  memberOf,
  newRow,
  rowsOf,
  type VariableRow,
  type VariablesAddress,
  variableKinds,
  variablesOf,
} from './variable-rows.ts'
import css from './variables.module.css'

type VariableSet = { variables: { [name: string]: unknown }; priority?: number }

type VariableDialogProps = {
  path: VariablesAddress
  entity: Entity<VariableSet>
  onClose: () => void
  onSaved: () => void
}

/** Edits all variables of one owner, one row each. */
export function VariableDialog({ path, entity, onClose, onSaved }: VariableDialogProps) {
  const [base, setBase] = useState(entity)
  const [rows, setRows] = useState(() => withEmptyRow(rowsOf(entity.value.variables)))
  const [priority, setPriority] = useState(String(entity.value.priority ?? ''))
  const [hasConflict, setHasConflict] = useState(false)
  const change = (id: number, part: Partial<VariableRow>) =>
    setRows(rows.map((row) => (row.id === id ? { ...row, ...part } : row)))
  const loadCurrent = async () => {
    const current = await readEntity(path)
    setBase(current)
    setRows(withEmptyRow(rowsOf(current.value.variables)))
    setHasConflict(false)
  }
  const save = async () => {
    const read = variablesOf(rows)
    if ('faults' in read) throw new ApiError(400, 'invalid', 'Correct the marked fields.', null, read.faults)
    const body = { ...read, ...(base.value.priority === undefined ? {} : { priority: Number(priority) }) }
    try {
      await put(path, { body, headers: ifMatch(base.tag) })
      onSaved()
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) setHasConflict(true)
      else throw error instanceof ApiError ? atRows(error, rows) : error
    }
  }
  return (
    <Dialog title="Set variables" submitLabel="Save" onClose={onClose} onSubmit={save}>
      {hasConflict ? <Conflict what="set of variables" onReload={() => void loadCurrent()} /> : null}
      <p class="label">
        A profile refers to a variable as <code>{'{"$var": "name"}'}</code>, or as <code>$&#123;name&#125;</code> in a
        text. Jobs that exist already keep their values.
      </p>
      {rows.map((row, index) => (
        <Row
          key={row.id}
          row={row}
          number={index + 1}
          onChange={(part) => change(row.id, part)}
          onRemove={() => setRows(rows.filter(({ id }) => id !== row.id))}
        />
      ))}
      <button
        type="button"
        class="button small"
        style={{ justifySelf: 'start' }}
        onClick={() => setRows([...rows, newRow()])}
      >
        <Icon name="plus" size={16} /> Add a variable
      </button>
      {base.value.priority === undefined ? null : (
        <label class="field">
          <span>Priority</span>
          <input
            class="input"
            type="number"
            required
            min={-1000}
            max={1000}
            name="priority"
            value={priority}
            onInput={(event) => setPriority(event.currentTarget.value)}
          />
          <span class="hint">If a device is in several groups with a value, the highest priority wins.</span>
        </label>
      )}
    </Dialog>
  )
}

const withEmptyRow = (rows: VariableRow[]): VariableRow[] => (rows.length > 0 ? rows : [newRow()])

/** The service names variables; the form has a field for each row. */
function atRows(error: ApiError, rows: readonly VariableRow[]): ApiError {
  const fields = error.fields.map((fault) => {
    const name = fault.pointer.split('/')[2]?.replaceAll('~1', '/').replaceAll('~0', '~')
    const row = rows.find((one) => one.name.trim() === name)
    const part = fault.code === 'invalid_variable_name' ? 'name' : 'value'
    return row ? { ...fault, pointer: `/${memberOf(part, row)}` } : fault
  })
  return new ApiError(error.status, error.code, error.message, error.retryAfterS, fields)
}

type RowProps = {
  row: VariableRow
  number: number
  onChange: (part: Partial<VariableRow>) => void
  onRemove: () => void
}

function Row({ row, number, onChange, onRemove }: RowProps) {
  const { name, kind, text, kept } = row
  const value = {
    class: 'input',
    name: memberOf('value', row),
    'aria-label': `Value ${number}`,
    autocomplete: 'off',
    value: text,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) => onChange({ text: currentTarget.value }),
  }
  return (
    <fieldset class={`plain ${css.row}`} aria-label={name === '' ? `Variable ${number}` : name}>
      <div class="field">
        <input
          class="input"
          name={memberOf('name', row)}
          aria-label={`Name ${number}`}
          placeholder="Name"
          maxLength={64}
          autocomplete="off"
          spellcheck={false}
          value={name}
          onInput={(event) => onChange({ name: event.currentTarget.value })}
        />
      </div>
      <select
        class="input"
        aria-label={`Type ${number}`}
        value={kind}
        onChange={(event) => onChange({ kind: event.currentTarget.value as VariableRow['kind'] })}
      >
        {Object.entries(variableKinds).map(([one, label]) => (
          <option key={one} value={one}>
            {label}
          </option>
        ))}
      </select>
      <div class="field">
        {kind === 'secret' ? (
          <input
            {...value}
            type="password"
            placeholder={kept === undefined ? 'Secret' : 'Set. Enter a new one to replace it'}
          />
        ) : (
          <input {...value} type="text" placeholder={kind === 'text' ? 'Value' : '["a", "b"]'} />
        )}
      </div>
      <button
        type="button"
        class="button quiet small"
        aria-label={`Remove ${name || `variable ${number}`}`}
        onClick={onRemove}
      >
        Remove
      </button>
    </fieldset>
  )
}
