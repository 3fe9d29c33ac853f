import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'

/** Returns a panel whose code is loaded when it is first opened. `label` names the panel while it loads. */
export function lazyPanel<Props extends object>(label: string, load: () => Promise<ComponentType<Props>>) {
  return function LazyPanel(props: Props) {
    const [loaded, setLoaded] = useState<{ Panel: ComponentType<Props> }>()
    const [failed, setFailed] = useState(false)
    useEffect(() => {
      load().then(
        (Panel) => setLoaded({ Panel }),
        () => setFailed(true),
      )
    }, [])
    if (loaded) return <loaded.Panel {...props} />
    return (
      <aside class="device-panel floating" aria-label={label}>
        <p class="panel-note" role="status">
          {failed ? 'Could not load this panel. Reload the page.' : 'Loading …'}
        </p>
      </aside>
    )
  }
}
