import { useEffect, useState } from 'preact/hooks'
import type { Background } from '../../map/background/background.ts'
import { type BackgroundKind, hasBackground } from '../../map/background/background-settings.ts'
import { loadBackground } from '../../map/background/load.ts'
import { type Theme, theme } from '../../state/theme.ts'
import { place } from '../../state/url.ts'

type Shown = { drawn: Background | null; shown: BackgroundKind | 'outlines'; failure: string | undefined }

const retryMs = 30_000
const outlines: Shown = { drawn: null, shown: 'outlines', failure: undefined }

/**
 * Reads the background of the map: the configured streets, or satellite images if the address says so. Without both, or if they
 * cannot be loaded, it is the map of the world; without that, the outlines of countries. Tries again until it is there.
 */
export function useBackground(): Shown {
  const [state, setState] = useState(outlines)
  const kind: BackgroundKind =
    place.value.params.background === 'satellite' && hasBackground('satellite')
      ? 'satellite'
      : hasBackground('map')
        ? 'map'
        : 'world'
  const look = theme.value
  useEffect(() => {
    let isWanted = true
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async (isAgain: boolean) => {
      const shown = await firstOf(kind, look)
      if (!isWanted) return
      if (shown.failure !== undefined) timer = setTimeout(read, retryMs, true)
      // What stands in for it stays as it is, so that the map is not drawn anew.
      if (shown.failure === undefined || !isAgain) setState(shown)
    }
    void read(false)
    return () => {
      isWanted = false
      clearTimeout(timer)
    }
  }, [kind, look])
  return state
}

/** Returns the background of this kind; the map of the world or the outlines in its place if it cannot be loaded. */
async function firstOf(kind: BackgroundKind, look: Theme): Promise<Shown> {
  let failure: string | undefined
  for (const shown of new Set<BackgroundKind>([kind, 'world'])) {
    if (!hasBackground(shown)) continue
    try {
      return { drawn: await loadBackground(shown, look), shown, failure }
    } catch {
      failure = 'The map background cannot be loaded.'
    }
  }
  return { ...outlines, failure }
}
