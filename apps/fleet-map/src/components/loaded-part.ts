import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { reloadWhenReachable } from './reload.ts'

type LoadedPart<Props> = { Part: ComponentType<Props> | undefined; failure: string | undefined }

/**
 * Returns a hook for a part of the page whose code is loaded when it is first shown. The hook returns the part once it is loaded,
 * and what happens next when it cannot be loaded.
 */
export function loadedPart<Props extends object>(load: () => Promise<ComponentType<Props>>) {
  let loaded: ComponentType<Props> | undefined
  return function useLoadedPart(): LoadedPart<Props> {
    const [Part, setPart] = useState(() => loaded)
    const [failure, setFailure] = useState<string>()
    useEffect(() => {
      if (loaded) return
      load().then(
        (found) => {
          loaded = found
          setPart(() => found)
        },
        () => setFailure(reloadWhenReachable() ? 'Cannot reach the service. Retrying.' : 'Reload the page.'),
      )
    }, [])
    return { Part, failure }
  }
}
