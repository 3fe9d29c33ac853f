import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Loading } from './states.tsx'

/** Returns a view whose code is loaded when it is first opened. */
export function lazyView(load: () => Promise<ComponentType>) {
  let known: ComponentType | undefined
  return function LazyView() {
    const [, setLoaded] = useState(known !== undefined)
    const [failed, setFailed] = useState(false)
    useEffect(() => {
      if (known) return
      load().then(
        (View) => {
          known = View
          setLoaded(true)
        },
        () => setFailed(true),
      )
    }, [])
    const View = known
    if (View) return <View />
    if (!failed) return <Loading />
    return (
      <div class="state" role="alert">
        <strong>Could not load this view</strong>
        <p>Check the connection and reload the page.</p>
      </div>
    )
  }
}
