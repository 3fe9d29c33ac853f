import type { ComponentChildren } from 'preact'
import { count } from './format.ts'
import css from './selection-bar.module.css'

type SelectionBarProps = {
  /** What is selected, such as "devices". */
  noun: string
  size: number
  /** Whether all that match the filter are selected. */
  isAll: boolean
  children: ComponentChildren
}

/** The bar above a table with the number of selected rows and what can be done with them. It stays in view. */
export const SelectionBar = ({ noun, size, isAll, children }: SelectionBarProps) => (
  <section class={`card ${css.bar}`} aria-label={`Selected ${noun}`}>
    <p>
      <strong>{count(size)}</strong> {isAll ? `matching ${noun} selected` : 'selected'}
    </p>
    {children}
  </section>
)
