import type { ComponentChildren } from 'preact'
import type { Resource } from '../../components/resource.ts'
import { Failure, Loading } from '../../components/states.tsx'
import css from './overview.module.css'

type CardProps<Value> = {
  title: string
  /** The name of the card in the grid. */
  area: string
  source: Resource<Value>
  /** A line below the title. */
  note?: string | undefined
  children: (value: Value) => ComponentChildren
}

/** A card of the overview, with its loading and error states. */
export function Card<Value>({ title, area, source, note, children }: CardProps<Value>) {
  return (
    <section class={`card ${css.overviewCard} ${css[area]}`} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {note ? <p class="label">{note}</p> : null}
      </header>
      {source.value !== undefined ? (
        children(source.value)
      ) : source.error ? (
        <Failure error={source.error} retry={source.reload} />
      ) : (
        <Loading rows={4} label={`Loading ${title.toLowerCase()}`} />
      )}
    </section>
  )
}
