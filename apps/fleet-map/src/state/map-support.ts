import { signal } from '@preact/signals'

/** False after this browser could not draw the map. */
export const canDrawMap = signal(true)
