import type { ComponentType } from 'preact'
import { loadedPart } from './loaded-part.ts'

/** Returns a panel whose code is loaded when it is first opened. `label` names the panel while it loads. */
export function lazyPanel<Props extends object>(label: string, load: () => Promise<ComponentType<Props>>) {
  const usePanel = loadedPart(load)
  return function LazyPanel(props: Props) {
    const { Part: Panel, failure } = usePanel()
    if (Panel) return <Panel {...props} />
    return (
      <aside class="device-panel floating" aria-label={label}>
        <p class="panel-note" role="status">
          {failure === undefined ? 'Loading …' : `Could not load this panel. ${failure}`}
        </p>
      </aside>
    )
  }
}
