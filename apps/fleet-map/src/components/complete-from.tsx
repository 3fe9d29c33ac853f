import { moment } from './format.ts'

/** Says from when on measurements are shown, if there were too many to show all; nothing otherwise. */
export const CompleteFrom = ({ ms }: { ms: number | null }) =>
  ms === null ? null : <p class="label">Only the newest measurements are shown, all from {moment(ms)} on.</p>
