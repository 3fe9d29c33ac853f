import { useEffect, useState } from 'preact/hooks'
import type { Background } from '../../map/background/background.ts'
import { type BackgroundKind, hasBackground } from '../../map/background/background-settings.ts'
import { loadBackground } from '../../map/background/load.ts'
import { theme } from '../../state/theme.ts'
import { place } from '../../state/url.ts'

type Shown = { drawn: Background | null; shown: BackgroundKind | 'outlines'; failure: string | undefined }

const outlines: Shown = { drawn: null, shown: 'outlines', failure: undefined }

/** Reads the configured background of the map: streets, or satellite images if the address says so. */
export function useBackground(): Shown {
  const [state, setState] = useState(outlines)
  const kind: BackgroundKind =
    place.value.params.background === 'satellite' && hasBackground('satellite') ? 'satellite' : 'map'
  const look = theme.value
  useEffect(() => {
    if (!hasBackground(kind)) return setState(outlines)
    let isWanted = true
    loadBackground(kind, look).then(
      (drawn) => isWanted && setState({ drawn, shown: kind, failure: undefined }),
      () => isWanted && setState({ ...outlines, failure: 'The map background cannot be loaded.' }),
    )
    return () => {
      isWanted = false
    }
  }, [kind, look])
  return state
}
