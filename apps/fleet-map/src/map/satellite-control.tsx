import type { IControl } from 'maplibre-gl'
import { render } from 'preact'
import { Icon } from '../components/icon.tsx'
import { place, setParams } from '../state/url.ts'

/** Returns a button on the map that shows satellite images. The address keeps the choice. */
export function satelliteControl(): IControl {
  const element = document.createElement('div')
  element.className = 'maplibregl-ctrl maplibregl-ctrl-group'
  return {
    onAdd() {
      render(<SatelliteButton />, element)
      return element
    },
    onRemove() {
      render(null, element)
      element.remove()
    },
  }
}

function SatelliteButton() {
  const isOn = place.value.params.background === 'satellite'
  return (
    <button
      type="button"
      aria-pressed={isOn}
      aria-label="Satellite images"
      title="Satellite images"
      onClick={() => setParams({ background: isOn ? null : 'satellite' })}
    >
      <Icon name="satellite" size={18} />
    </button>
  )
}
