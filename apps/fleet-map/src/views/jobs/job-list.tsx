import { useEffect } from 'preact/hooks'
import type { Job, JobBatchSummary } from '../../api/schemas.ts'
import { ago, count } from '../../components/format.ts'
import { jobLook, kindLabel } from '../../components/label-text.ts'
import { JobProgress } from '../../components/labels.tsx'
import { MoreButton, usePages } from '../../components/pages.tsx'
import { Empty, Failure, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { useDeviceNames } from '../../state/device-names.ts'
import { linkTo } from '../../state/url.ts'
import { useFilterTexts } from '../devices/filter-choices.ts'
import { ProgressBar } from './batch-progress.tsx'
import { authorOf, batchState, contentOf, matchingText } from './batch-words.ts'

type Row = { batch: JobBatchSummary } | { job: Job }

const refreshMs = 3_000
const createdAt = (row: Row): string => ('batch' in row ? row.batch.createdAt : row.job.createdAt)
const isNewer = (a: Row, b: Row) => Date.parse(createdAt(b)) - Date.parse(createdAt(a))

/** Lists batches and the jobs of single devices, newest first. */
export function JobList({ org }: { org: string }) {
  const batches = usePages(`/orgs/${org}/job-batches`, { limit: 50 })
  const single = usePages(`/orgs/${org}/jobs`, { inBatch: false, limit: 50 })
  const nameOf = useDeviceNames(org)
  const targetOf = useTargetWords(org, batches.items, nameOf)
  useEffect(() => {
    // Only while the first pages are shown, so that a reader of older jobs keeps the place.
    if (batches.items.length > 50 || single.items.length > 50) return
    const timer = setInterval(() => {
      batches.reload()
      single.reload()
    }, refreshMs)
    return () => clearInterval(timer)
  }, [batches.items.length > 50, single.items.length > 50])

  const { rows, more } = merge(batches, single)
  const error = batches.error ?? single.error
  const isLoading = rows.length === 0 && (batches.loading || single.loading)
  const columns: Column<Row>[] = [
    {
      title: 'Job',
      cell: (row) =>
        'batch' in row ? (
          <>
            <a href={linkTo('jobs', { batch: row.batch.id })}>{kindLabel[row.batch.kind] ?? row.batch.kind}</a>
            <div class="hint">{contentOf(row.batch)}</div>
          </>
        ) : (
          <a href={linkTo('jobs', { job: row.job.id })}>{kindLabel[row.job.kind] ?? row.job.kind}</a>
        ),
    },
    {
      title: 'Target',
      cell: (row) => ('job' in row ? nameOf(row.job.deviceId) : targetOf(row.batch)),
    },
    {
      title: 'State',
      cell: (row) => ('batch' in row ? batchState(row.batch) : jobLook[row.job.status].label),
      optional: true,
    },
    {
      title: 'Progress',
      cell: (row) => ('batch' in row ? <ProgressBar batch={row.batch} /> : <JobProgress job={row.job} />),
    },
    { title: 'Devices', cell: (row) => ('batch' in row ? count(row.batch.total) : 1), kind: 'number', optional: true },
    { title: 'Author', cell: (row) => ('batch' in row ? authorOf(row.batch) : '–'), optional: true },
    { title: 'Created', cell: (row) => ago(createdAt(row)), optional: true },
  ]
  return (
    <>
      {error ? <Failure error={error} retry={batches.error ? batches.reload : single.reload} /> : null}
      {isLoading && !error ? <Loading /> : null}
      {!isLoading && !error && rows.length === 0 ? (
        <Empty title="No jobs yet">
          <p>A job is a command for one router: a reboot, a config profile, new firmware. Each device gets its own.</p>
        </Empty>
      ) : null}
      {rows.length > 0 ? (
        <Table
          caption="Jobs"
          columns={columns}
          rows={rows}
          keyOf={(row) => ('batch' in row ? row.batch.id : row.job.id)}
        />
      ) : null}
      <MoreButton more={more} />
    </>
  )
}

type Pages<Item> = { items: Item[]; more: (() => void) | undefined }

/** Merges two lists, newest first, as far down as both are known. */
function merge(batches: Pages<JobBatchSummary>, single: Pages<Job>): { rows: Row[]; more: (() => void) | undefined } {
  const rows: Row[] = [...batches.items.map((batch) => ({ batch })), ...single.items.map((job) => ({ job }))].sort(
    isNewer,
  )
  const ends = [
    batches.more ? batches.items.at(-1)?.createdAt : undefined,
    single.more ? single.items.at(-1)?.createdAt : undefined,
  ].filter((end) => end !== undefined)
  const knownFrom = ends.sort().at(-1)
  const more =
    batches.more || single.more
      ? () => {
          batches.more?.()
          single.more?.()
        }
      : undefined
  return { rows: knownFrom === undefined ? rows : rows.filter((row) => createdAt(row) >= knownFrom), more }
}

/** Returns a function that says which devices a batch is for. */
function useTargetWords(org: string, batches: readonly JobBatchSummary[], nameOf: (deviceId: string) => string) {
  const textOf = useFilterTexts(
    org,
    batches.flatMap(({ target }) => ('filter' in target ? [target.filter] : [])),
  )
  return ({ targetName, target }: JobBatchSummary): string => {
    if (targetName !== null) return targetName
    if ('filter' in target) return matchingText(textOf(target.filter))
    return 'deviceId' in target && target.deviceId ? nameOf(target.deviceId) : 'Devices'
  }
}
