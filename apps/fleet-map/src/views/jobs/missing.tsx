import type { ApiError } from '../../api/client.ts'
import { Failure } from '../../components/states.tsx'
import { linkTo } from '../../state/url.ts'

/** Explains why a job or a batch cannot be shown, and leads back to the list. */
export const Missing = ({ error, retry }: { error: ApiError; retry: () => void }) => (
  <Failure error={error} retry={retry}>
    <a class="button" href={linkTo('jobs')}>
      All jobs
    </a>
  </Failure>
)
