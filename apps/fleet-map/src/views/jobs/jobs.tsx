import type { ComponentChildren } from 'preact'
import { Icon } from '../../components/icon.tsx'
import { ForScope, NeedsScope } from '../../components/needs-scope.tsx'
import { holds, homeOrganizationId } from '../../state/session.ts'
import { linkTo, place } from '../../state/url.ts'
import { OrganizationPicker, WithoutOrganization } from '../shell/shell.tsx'
import { BatchDetail } from './batch-detail.tsx'
import { FirmwareCatalogue } from './firmware.tsx'
import { JobDetail } from './job-detail.tsx'
import { JobList } from './job-list.tsx'
import { jobScopes } from './job-scopes.ts'
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
            <MayStart org={org}>
              <NewJob org={org} />
            </MayStart>
          ) : (
            <>
              <div class="page-head">
                <h1>Jobs</h1>
                <OrganizationPicker allowAll={false} />
                <ForScope org={org} scope={jobScopes}>
                  <a class="button primary" href={linkTo('jobs', { new: 'job' })}>
                    <Icon name="plus" size={16} /> New job
                  </a>
                </ForScope>
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

/** The form of a new job. A caller who may only apply profiles needs it, too. */
const MayStart = ({ org, children }: { org: string; children: ComponentChildren }) =>
  holds(org, 'config:apply') ? (
    children
  ) : (
    <NeedsScope org={org} scope="job:create" title="New job">
      {children}
    </NeedsScope>
  )
