import { useState } from 'preact/hooks'
import type { Alert } from '../../api/schemas.ts'
import type { Column } from '../../components/table.tsx'
import type { AlertChoice } from './alert-choice.ts'
import { subjectName } from './alert-subject.tsx'
import { kindLabels } from './alert-words.ts'

/** The choice of rows in the inbox. Closed alerts cannot be chosen. */
export type AlertSelection = {
  /** Undefined while nothing is chosen. */
  choice: AlertChoice | undefined
  canAcknowledge: boolean
  shown: readonly Alert[]
  isChosen: (alert: Alert) => boolean
  choose: (alerts: readonly Alert[], chosen: boolean) => void
  chooseAll: (choice: AlertChoice) => void
  clear: () => void
}

/** Keeps the chosen rows of a list; nothing is chosen after a change of `key`. */
export function useSelection(key: string, items: readonly Alert[]): AlertSelection {
  const [state, setState] = useState<{ key: string; ids: ReadonlySet<string>; all?: AlertChoice }>({
    key,
    ids: new Set(),
  })
  const { ids, all } = state.key === key ? state : { ids: new Set<string>(), all: undefined }
  const shown = items.filter(isHandled)
  const chosen = shown.filter(({ id }) => ids.has(id))
  const rows = chosen.length > 0 ? { size: chosen.length, alertIds: chosen.map(({ id }) => id) } : undefined
  return {
    choice: all ?? rows,
    canAcknowledge: chosen.some(({ state: one }) => one === 'open'),
    shown,
    isChosen: (alert) => ids.has(alert.id),
    choose: (alerts, isChosen) => {
      const next = new Set(ids)
      for (const { id } of alerts) isChosen ? next.add(id) : next.delete(id)
      setState({ key, ids: next })
    },
    chooseAll: (choice) => setState({ key, ids, all: choice }),
    clear: () => setState({ key, ids: new Set() }),
  }
}

const isHandled = ({ state }: Alert) => state !== 'closed'

/** The column with which rows are chosen. */
export const choiceColumn = ({ shown, isChosen, choose }: AlertSelection): Column<Alert> => {
  const chosen = shown.filter(isChosen).length
  return {
    title: 'Select',
    heading: (
      <input
        type="checkbox"
        aria-label="Select all alerts shown"
        disabled={shown.length === 0}
        checked={chosen > 0 && chosen === shown.length}
        ref={(box) => {
          if (box) box.indeterminate = chosen > 0 && chosen < shown.length
        }}
        onChange={(event) => choose(shown, event.currentTarget.checked)}
      />
    ),
    cell: (alert) =>
      isHandled(alert) ? (
        <input
          type="checkbox"
          aria-label={`Select ${kindLabels[alert.kind]} of ${subjectName(alert) ?? 'a device'}`}
          checked={isChosen(alert)}
          onChange={(event) => choose([alert], event.currentTarget.checked)}
        />
      ) : null,
  }
}
