import { Icon } from '../../components/icon.tsx'
import { NeedsScope } from '../../components/needs-scope.tsx'
import { homeOrganizationId } from '../../state/session.ts'
import { linkTo, place } from '../../state/url.ts'
import { OrganizationPicker, WithoutOrganization } from '../shell/shell.tsx'
import { BatchDetail } from './batch-detail.tsx'
import { FirmwareCatalogue } from './firmware.tsx'
import { JobDetail } from './job-detail.tsx'
import { JobList } from './job-list.tsx'
import { NewJob } from './new-job.tsx'

/** Lists jobs and firmware, creates jobs, or shows a batch or a job. */
export function JobsView() {
  const org = homeOrganizationId.value
  const { batch, job, new: kind, show } = place.value.params
  if (!org) return <WithoutOrganization />
  return (
    <div class="page">
      <div class="page-inner">
        <NeedsScope org={org} scope="job:read" title="Jobs">
          {batch ? (
            <BatchDetail key={batch} org={org} id={batch} />
          ) : job ? (
            <JobDetail key={job} org={org} id={job} />
          ) : kind ? (
            <NewJob org={org} />
          ) : (
            <>
              <div class="page-head">
                <h1>Jobs</h1>
                <OrganizationPicker allowAll={false} />
                <a class="button primary" href={linkTo('jobs', { new: 'job' })}>
                  <Icon name="plus" size={16} /> New job
                </a>
              </div>
              <nav class="tabs" aria-label="Jobs">
                <a href={linkTo('jobs')} aria-current={show === 'firmware' ? undefined : 'page'}>
                  Jobs
                </a>
                <a href={linkTo('jobs', { show: 'firmware' })} aria-current={show === 'firmware' ? 'page' : undefined}>
                  Firmware
                </a>
              </nav>
              {show === 'firmware' ? <FirmwareCatalogue org={org} /> : <JobList org={org} />}
            </>
          )}
        </NeedsScope>
      </div>
    </div>
  )
}
