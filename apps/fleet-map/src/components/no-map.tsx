import type { ComponentChildren } from 'preact'

/** Says why there is no map, and what the reader can do instead. */
export const NoMap = ({ children }: { children: ComponentChildren }) => (
  <p class="notice" role="status">
    This browser cannot draw the map, because WebGL 2 is not available or is switched off. {children}
  </p>
)
