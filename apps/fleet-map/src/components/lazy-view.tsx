import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { reloadWhenReachable } from './reload.ts'
import { Loading } from './states.tsx'

/** Returns a view whose code is loaded when it is first opened. */
export function lazyView(load: () => Promise<ComponentType>) {
  let known: ComponentType | undefined
  return function LazyView() {
    const [, setLoaded] = useState(known !== undefined)
    const [failure, setFailure] = useState<string>()
    useEffect(() => {
      if (known) return
      load().then(
        (View) => {
          known = View
          setLoaded(true)
        },
        () => setFailure(reloadWhenReachable() ? 'Cannot reach the service. Retrying.' : 'Reload the page.'),
      )
    }, [])
    const View = known
    if (View) return <View />
    if (failure === undefined) return <Loading />
    return (
      <div class="state" role="alert">
        <strong>Could not load this view</strong>
        <p>{failure}</p>
      </div>
    )
  }
}
