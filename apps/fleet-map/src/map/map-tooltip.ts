import type { MapLayerMouseEvent, Map as MapLibre } from 'maplibre-gl'
import type { DeviceStatus, Quality } from '../api/schemas.ts'
import { plural } from '../components/format.ts'
import { qualityLabel, statusLabel } from '../components/label-text.ts'

const offsetPx = 14

/** Shows what is below the pointer: the name, the status and the signal of a device, or the size of a cluster. */
export function openTooltip(map: MapLibre, layers: readonly string[]): void {
  const box = document.createElement('div')
  box.className = 'map-tooltip floating'
  box.hidden = true
  // The panel of a device says the same to screen readers.
  box.setAttribute('aria-hidden', 'true')
  map.getContainer().append(box)
  const hide = () => {
    box.hidden = true
  }
  const show = ({ point, features = [] }: MapLayerMouseEvent) => {
    const [found] = features
    const [title, more] = found ? textsOf(found.properties) : []
    if (!title) return hide()
    const name = document.createElement('strong')
    name.textContent = title
    box.replaceChildren(name, ...(more ? [more] : []))
    box.hidden = false
    const { clientWidth: width, clientHeight: height } = map.getContainer()
    const left = Math.min(point.x + offsetPx, width - box.offsetWidth)
    const top =
      point.y + offsetPx + box.offsetHeight > height ? point.y - offsetPx - box.offsetHeight : point.y + offsetPx
    box.style.translate = `${Math.max(0, left)}px ${Math.max(0, top)}px`
  }
  map.on('mousemove', [...layers], show)
  map.on('mouseleave', [...layers], hide)
  map.on('movestart', hide)
}

type Properties = Record<string, unknown>

function textsOf({ name, status, quality, count }: Properties): [title: string, more?: string] {
  if (typeof count === 'number') return [plural(count, 'device')]
  const signal = typeof quality === 'string' ? `signal ${qualityLabel[quality as Quality].toLowerCase()}` : ''
  return [String(name ?? ''), [statusLabel(status as DeviceStatus), signal].filter(Boolean).join(', ')]
}
