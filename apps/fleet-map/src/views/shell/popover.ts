import { useEffect, useRef, useState } from 'preact/hooks'

/** A panel that a button opens, and that a press outside of it or the Escape key closes. `frame` is around both. */
export function usePopover() {
  const [open, setOpen] = useState(false)
  const frame = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!open) return
    const closeOutside = (event: Event) => {
      if (!frame.current?.contains(event.target as Node)) setOpen(false)
    }
    const closeOnEscape = (event: KeyboardEvent) => {
      if (event.key !== 'Escape' || document.querySelector('dialog[open]')) return
      setOpen(false)
      frame.current?.querySelector('button')?.focus()
    }
    addEventListener('pointerdown', closeOutside)
    addEventListener('keydown', closeOnEscape)
    return () => {
      removeEventListener('pointerdown', closeOutside)
      removeEventListener('keydown', closeOnEscape)
    }
  }, [open])
  return { open, setOpen, frame }
}
