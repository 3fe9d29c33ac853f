import { moment } from './format.ts'

/** Says when the history of the plan begins, if that shortens a time range; nothing otherwise. */
export const PlanHistory = ({ fromMs }: { fromMs: number | null }) =>
  fromMs === null ? null : (
    <p class="label">The history of your plan begins on {moment(fromMs)}. Nothing is shown from before.</p>
  )
