import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'
import css from './menu.module.css'

type MenuProps = {
  label: ComponentChildren
  small?: boolean
  /** What the panel holds: fields in two columns, a list, or buttons that close it. */
  kind?: 'fields' | 'list' | 'actions'
  /** Whether the panel lies above the page, where no frame that scrolls cuts it. Scrolling closes it. */
  floats?: boolean
  onToggle?: (isOpen: boolean) => void
  children: ComponentChildren
}

/**
 * A button that opens a panel below it. A press outside of it, the focus of another element or the Escape key closes the panel. The
 * arrow keys move between actions. The button has the focus before an action begins, so that a dialog returns it there.
 */
export function Menu({ label, small = false, kind, floats = false, onToggle, children }: MenuProps) {
  const frame = useRef<HTMLDetailsElement>(null)
  const panel = useRef<HTMLDivElement>(null)
  const close = () => frame.current?.removeAttribute('open')
  const closeAndFocus = () => {
    close()
    frame.current?.querySelector('summary')?.focus()
  }
  useEffect(() => {
    const closeOutside = (event: Event) => {
      if (!frame.current?.contains(event.target as Node)) close()
    }
    addEventListener('pointerdown', closeOutside)
    if (floats) addEventListener('scroll', close, { capture: true, passive: true })
    return () => {
      removeEventListener('pointerdown', closeOutside)
      removeEventListener('scroll', close, { capture: true })
    }
  }, [])
  function moveFocus(event: KeyboardEvent, step: number): void {
    event.preventDefault()
    const buttons = [...(frame.current?.querySelectorAll<HTMLElement>('summary, button:enabled') ?? [])]
    const next = buttons.indexOf(document.activeElement as HTMLElement) + step
    buttons[(next + buttons.length) % buttons.length]?.focus()
  }
  return (
    <details
      ref={frame}
      class={`${css.menu} ${floats ? css.floating : ''}`}
      onToggle={({ currentTarget }) => {
        if (floats && currentTarget.open) placeBeside(currentTarget, panel.current)
        onToggle?.(currentTarget.open)
      }}
      onKeyDown={(event) => {
        if (!frame.current?.open || document.querySelector('dialog[open]')) return
        const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
        if (kind === 'actions' && step !== undefined) moveFocus(event, step)
        if (event.key !== 'Escape') return
        event.stopPropagation()
        closeAndFocus()
      }}
      onFocusOut={({ relatedTarget }) => {
        // A press on the panel itself takes the focus from its button without giving it to another element.
        if (relatedTarget instanceof Node && !frame.current?.contains(relatedTarget)) close()
      }}
      onClickCapture={({ target }) => {
        if (kind === 'actions' && target instanceof Element && target.closest('button:enabled')) closeAndFocus()
      }}
    >
      <summary class={`button ${small ? 'small' : ''} ${floats ? 'quiet' : ''}`}>{label}</summary>
      <div ref={panel} class={`card ${kind ? css[kind] : ''}`}>
        {children}
      </div>
    </details>
  )
}

/** Places a panel below its button, or above it where the window ends. Their right edges are aligned. */
function placeBeside(button: HTMLElement, panel: HTMLElement | null): void {
  if (!panel) return
  const { top, bottom, right } = button.getBoundingClientRect()
  const isAbove = bottom + panel.offsetHeight > innerHeight && top > panel.offsetHeight
  panel.style.right = `${document.documentElement.clientWidth - right}px`
  panel.style.top = `${isAbove ? top - panel.offsetHeight : bottom}px`
}

export type MenuAction = { label: string; onChoose: () => void; danger?: boolean; disabled?: boolean }

/** The actions that are needed less often. */
export const ActionMenu = ({ actions, small = false }: { actions: readonly MenuAction[]; small?: boolean }) => (
  <Menu label="More actions" kind="actions" small={small}>
    <MenuButtons actions={actions} />
  </Menu>
)

/** The further actions of a table's row. `subject` tells the menus of the rows apart for screen readers. */
export const RowMenu = ({ actions, subject }: { actions: readonly MenuAction[]; subject: string }) => (
  <Menu
    label={
      <>
        <Icon name="more" size={18} />
        <span class="visually-hidden">More actions for {subject}</span>
      </>
    }
    kind="actions"
    small
    floats
  >
    <MenuButtons actions={actions} />
  </Menu>
)

const MenuButtons = ({ actions }: { actions: readonly MenuAction[] }) => (
  <>
    {actions.map(({ label, onChoose, danger, disabled = false }) => (
      <button
        key={label}
        type="button"
        class={`button quiet small ${danger ? 'danger' : ''}`}
        disabled={disabled}
        onClick={onChoose}
      >
        {label}
      </button>
    ))}
  </>
)
