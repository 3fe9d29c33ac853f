import { useRef } from 'preact/hooks'
import css from './action-menu.module.css'

export type MenuAction = { label: string; onChoose: () => void; danger?: boolean; disabled?: boolean }

type ActionMenuProps = { actions: readonly MenuAction[]; small?: boolean }

/**
 * The actions that are needed less often, behind one button. The arrow keys move between them, Escape closes the menu. The button
 * has the focus before an action begins, so that a dialog returns it there.
 */
export function ActionMenu({ actions, small = false }: ActionMenuProps) {
  const menu = useRef<HTMLDetailsElement>(null)
  const close = () => {
    menu.current?.removeAttribute('open')
    menu.current?.querySelector('summary')?.focus()
  }
  return (
    <details
      ref={menu}
      class={css.menu}
      onKeyDown={(event) => {
        if (event.key === 'Escape' && menu.current?.open) close()
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
        if (step === undefined || !menu.current?.open) return
        event.preventDefault()
        const buttons = [...menu.current.querySelectorAll<HTMLElement>('summary, button:enabled')]
        const next = buttons.indexOf(document.activeElement as HTMLElement) + step
        buttons[(next + buttons.length) % buttons.length]?.focus()
      }}
      onFocusOut={({ relatedTarget }) => {
        // A press on the menu itself takes the focus from its button without giving it to another element.
        if (relatedTarget instanceof Node && !menu.current?.contains(relatedTarget))
          menu.current?.removeAttribute('open')
      }}
    >
      <summary class={`button ${small ? 'small' : ''}`}>More actions</summary>
      <div class={`card ${css.actions}`}>
        {actions.map(({ label, onChoose, danger, disabled = false }) => (
          <button
            key={label}
            type="button"
            class={`button quiet small ${danger ? 'danger' : ''}`}
            disabled={disabled}
            onClick={() => {
              close()
              onChoose()
            }}
          >
            {label}
          </button>
        ))}
      </div>
    </details>
  )
}
