import type { ComponentType } from 'preact'
import { loadedPart } from './loaded-part.ts'
import { Loading } from './states.tsx'

/** Returns a view whose code is loaded when it is first opened. */
export function lazyView<Props extends object = object>(load: () => Promise<ComponentType<Props>>) {
  const useView = loadedPart(load)
  return function LazyView(props: Props) {
    const { Part: View, failure } = useView()
    if (View) return <View {...props} />
    if (failure === undefined) return <Loading />
    return (
      <div class="state" role="alert">
        <strong>Could not load this view</strong>
        <p>{failure}</p>
      </div>
    )
  }
}
