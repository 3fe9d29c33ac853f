import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { reloadWhenReachable } from './reload.ts'

/** Returns a panel whose code is loaded when it is first opened. `label` names the panel while it loads. */
export function lazyPanel<Props extends object>(label: string, load: () => Promise<ComponentType<Props>>) {
  return function LazyPanel(props: Props) {
    const [loaded, setLoaded] = useState<{ Panel: ComponentType<Props> }>()
    const [failure, setFailure] = useState<string>()
    useEffect(() => {
      load().then(
        (Panel) => setLoaded({ Panel }),
        () =>
          setFailure(
            reloadWhenReachable()
              ? 'Cannot reach the service. Retrying.'
              : 'Could not load this panel. Reload the page.',
          ),
      )
    }, [])
    if (loaded) return <loaded.Panel {...props} />
    return (
      <aside class="device-panel floating" aria-label={label}>
        <p class="panel-note" role="status">
          {failure ?? 'Loading …'}
        </p>
      </aside>
    )
  }
}
