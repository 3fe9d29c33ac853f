import { useEffect } from 'preact/hooks'
import { setTitle } from '../state/title.ts'

/** Puts the name of what is shown in front of the title of the browser tab until the component disappears. */
export function useTitle(text: string): void {
  useEffect(() => {
    setTitle(text)
    return () => setTitle('')
  }, [text])
}
