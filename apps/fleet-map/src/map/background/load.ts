import type { Theme } from '../../state/theme.ts'
import type { Background } from './background.ts'
import { type BackgroundKind, backgroundSettings } from './background-settings.ts'

/** Reads a background. The code for it is loaded with the first one. Throws if it cannot be read. */
export async function loadBackground(kind: BackgroundKind, theme: Theme): Promise<Background> {
  if (kind === 'world' && backgroundSettings.world) {
    const { readWorld } = await import('./world.ts')
    return readWorld(new URL(backgroundSettings.world, document.baseURI).href)
  }
  const { readBackground } = await import('./configured-background.ts')
  return readBackground(kind, theme)
}
