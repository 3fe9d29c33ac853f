import type { Theme } from '../../state/theme.ts'
import type { Background } from './background.ts'
import type { BackgroundKind } from './background-settings.ts'

/** Reads a configured background. The code for it is loaded with the first one. Throws if it cannot be read. */
export async function loadBackground(kind: BackgroundKind, theme: Theme): Promise<Background> {
  const { readBackground } = await import('./configured-background.ts')
  return readBackground(kind, theme)
}
