import { useEffect, useRef } from 'preact/hooks'
import { finishRoute, route, undoPoint } from '../../state/route.ts'

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.closest('input, textarea, select, button, a, summary') !== null

/** Enter finishes the route and Backspace removes the last point, except while a field or button has the focus. */
export function useDrawingKeys(): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (!route.value.drawing || isTyping(event.target)) return
      if (event.key === 'Enter') finishRoute()
      else if (event.key === 'Backspace' || event.key === 'Delete') undoPoint()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

/** Opens a file dropped anywhere on the page while the panel is open. */
export function useDroppedFile(open: (file: File | undefined) => void): void {
  const newest = useRef(open)
  newest.current = open
  useEffect(() => {
    const allow = (event: DragEvent) => event.preventDefault()
    const drop = (event: DragEvent) => {
      event.preventDefault()
      newest.current(event.dataTransfer?.files[0])
    }
    addEventListener('dragover', allow)
    addEventListener('drop', drop)
    return () => {
      removeEventListener('dragover', allow)
      removeEventListener('drop', drop)
    }
  }, [])
}
