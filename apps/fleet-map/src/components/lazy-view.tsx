import type { ComponentType } from 'preact'
import { loadedPart } from './loaded-part.ts'
import { Loading } from './states.tsx'

/** Returns a view whose code is loaded when it is first opened. */
export function lazyView(load: () => Promise<ComponentType>) {
  const useView = loadedPart(load)
  return function LazyView() {
    const { Part: View, failure } = useView()
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
