import { useEffect, useRef } from 'preact/hooks'

/**
 * Moves the focus to the heading of a panel that opens, and back to where it was when the panel closes. Returns the
 * reference of the heading.
 */
export function usePanelFocus() {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    const before = document.activeElement
    heading.current?.focus({ preventScroll: true })
    return () => {
      if (before instanceof HTMLElement && before.isConnected && before !== document.body) before.focus()
      else document.querySelector<HTMLElement>('canvas.maplibregl-canvas')?.focus({ preventScroll: true })
    }
  }, [])
  return heading
}
