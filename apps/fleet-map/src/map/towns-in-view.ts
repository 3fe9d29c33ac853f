import type { Map as MapLibre } from 'maplibre-gl'
import { townLayer } from './background/background.ts'

const mostTowns = 5

/** Tells readers of the page by a screen reader where the map is: the largest towns whose names it shows. */
export function describeTownsInView(map: MapLibre): void {
  let isStale = true
  for (const event of ['moveend', 'style.load'] as const)
    map.on(event, () => {
      isStale = true
    })
  map.on('idle', () => {
    if (!isStale) return
    isStale = false
    const names = map.getLayer(townLayer) ? shownTowns(map) : []
    if (names.length > 0) map.getCanvas().setAttribute('aria-description', `Towns in view: ${names.join(', ')}`)
    else map.getCanvas().removeAttribute('aria-description')
  })
}

/** Returns the names of the largest towns on the screen. */
function shownTowns(map: MapLibre): string[] {
  const towns = map.queryRenderedFeatures({ layers: [townLayer] }).map(({ properties }) => properties)
  towns.sort((a, b) => b.rank - a.rank)
  return [...new Set(towns.map(({ name }) => String(name)))].slice(0, mostTowns)
}
