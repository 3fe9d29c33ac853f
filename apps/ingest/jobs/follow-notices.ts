import { allDevices, deviceJobsChannel } from '#fleet/jobs/notices'
import type { ChannelListener } from '#postgres/listen'
import type { Mailbox } from './mailbox.ts'
import type { OpenJobs } from './open-jobs.ts'

/**
 * Wakes waiting devices when the database reports new jobs for them, and counts the jobs; after a gap in the notices, wakes all
 * devices.
 */
export const followJobNotices = (mailbox: Mailbox, openJobs: Pick<OpenJobs, 'note'>): ChannelListener => ({
  channel: deviceJobsChannel,
  onNotice(payload) {
    if (payload === allDevices) return mailbox.wake()
    const deviceIds = payload.split(',')
    openJobs.note(deviceIds)
    mailbox.wake(deviceIds)
  },
  onGap: () => mailbox.wake(),
})
