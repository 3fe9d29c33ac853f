import { useEffect } from 'preact/hooks'
import { loadedPart } from '../../components/loaded-part.ts'

/** What a key opened. */
export type Opened = 'search' | 'keys' | null

const useSearch = loadedPart(async () => (await import('./search.tsx')).Search)
const useKeys = loadedPart(async () => (await import('./keys.tsx')).Keys)

type ShortcutsProps = { opened: Opened; onOpen: (next: (before: Opened) => Opened) => void }

/** Opens the search with Ctrl-K and `/`, and the list of keys with `?`. */
export function Shortcuts({ opened, onOpen }: ShortcutsProps) {
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
  if (opened === 'search') return <LoadedSearch onClose={close} />
  return opened === 'keys' ? <LoadedKeys onClose={close} /> : null
}

function LoadedSearch({ onClose }: { onClose: () => void }) {
  const { Part } = useSearch()
  return Part ? <Part onClose={onClose} /> : null
}

function LoadedKeys({ onClose }: { onClose: () => void }) {
  const { Part } = useKeys()
  return Part ? <Part onClose={onClose} /> : null
}

function wantedBy({ key, ctrlKey, metaKey, altKey, target }: KeyboardEvent): Opened {
  if (key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey) return 'search'
  // A field receives the key as text.
  const isField = target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]')
  if (isField || ctrlKey || metaKey || altKey) return null
  return key === '/' ? 'search' : key === '?' ? 'keys' : null
}
