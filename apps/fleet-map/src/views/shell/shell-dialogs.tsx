import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { loadedPart } from '../../components/loaded-part.ts'

/** The dialog that is open. */
export type Opened = 'search' | 'keys' | 'name' | null

type PartProps = { onClose: () => void; typed: string }

/** The code of each is loaded when it is first opened. */
const parts = {
  search: loadedPart<PartProps>(async () => (await import('./search.tsx')).Search),
  keys: loadedPart<PartProps>(async () => (await import('./keys.tsx')).Keys),
  name: loadedPart<PartProps>(async () => (await import('./rename-dialog.tsx')).RenameDialog),
}

type ShellDialogsProps = { opened: Opened; onOpen: (next: (before: Opened) => Opened) => void }

/** The dialogs of the frame. Ctrl-K and `/` open the search, and `?` the list of keys. */
export function ShellDialogs({ opened, onOpen }: ShellDialogsProps) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const wanted = wantedBy(event)
      if (wanted === null || document.querySelector('dialog[open]')) return
      event.preventDefault()
      onOpen(() => wanted)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  // A dialog tells that it closed a moment later, when a key may have opened the other one.
  const close = () => onOpen((before) => (before === opened ? null : before))
  return opened === null ? null : <Loaded key={opened} opened={opened} onClose={close} />
}

/** Keeps the keys of a reader who types on while the code is loading, for the part that has a field for them. */
function Loaded({ opened, onClose }: { opened: keyof typeof parts; onClose: () => void }) {
  const { Part } = parts[opened]()
  const typed = useRef('')
  useLayoutEffect(() => {
    if (Part) return
    const keep = ({ key, ctrlKey, metaKey }: KeyboardEvent) => {
      if (key.length === 1 && !ctrlKey && !metaKey) typed.current += key
    }
    addEventListener('keydown', keep)
    return () => removeEventListener('keydown', keep)
  }, [Part])
  return Part ? <Part onClose={onClose} typed={typed.current} /> : null
}

function wantedBy({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): 'search' | 'keys' | null {
  if (key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey) return 'search'
  // A field receives the key as text.
  const isField = target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
  if (isField || ctrlKey || metaKey || altKey) return null
  return key === '/' ? 'search' : key === '?' ? 'keys' : null
}
