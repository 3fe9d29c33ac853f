/** How long a view or panel that appears may take to choose the focus itself. */
const choiceMs = 150

/**
 * Keeps the keyboard focus. The browser gives it up when the focused element disappears, such as a row that was deleted, or is
 * disabled for a moment, such as a button during a request. The focus then goes to the open dialog or the content of the page,
 * or back to the button.
 */
export function keepFocus(page: HTMLElement): void {
  let focused: HTMLElement | null = null
  addEventListener('focusin', ({ target }) => {
    focused = target instanceof HTMLElement ? target : null
  })
  // Who clicks beside everything or moves on to the browser's own buttons leaves an element that could keep the focus.
  addEventListener('focusout', ({ target }) => {
    setTimeout(() => {
      if (focused === target && !hasFocus() && focused?.isConnected && !focused.matches(':disabled')) focused = null
    })
  })
  const restore = () => {
    if (!focused || hasFocus()) return
    if (!focused.isConnected) fallback()?.focus({ preventScroll: true })
    else if (!focused.matches(':disabled')) focused.focus({ preventScroll: true })
  }
  const observer = new MutationObserver(() => {
    if (focused && !hasFocus()) setTimeout(restore, choiceMs)
  })
  observer.observe(page, { childList: true, subtree: true, attributeFilter: ['disabled'] })
}

const hasFocus = (): boolean => document.activeElement !== null && document.activeElement !== document.body

function fallback(): HTMLElement | null {
  // The last one is above the others.
  const dialog = [...document.querySelectorAll('dialog[open]')].at(-1)
  if (dialog) return dialog.querySelector('input, select, textarea, button')
  return document.getElementById('content')
}
